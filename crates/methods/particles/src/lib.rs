//! Liquid particles: sorting, seeding, FLIP and APIC transfers, narrow band.
