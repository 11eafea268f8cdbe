#![no_main]
fluvial_fuzz::target!("record");
