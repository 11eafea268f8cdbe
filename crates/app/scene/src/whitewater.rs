//! `[whitewater]`: spray, foam and bubbles.

use crate::error::SceneError;
use crate::format::Scene;
use fluvial_foundation::Vec3;
use fluvial_solver_interface::{Setup, Volumes};
use fluvial_whitewater::{Params, Ramp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Spray, foam and air bubbles that follow the liquid, in `whitewater.0000.*`, with kind (0 spray, 1 foam, 2 bubble), age and
/// size. An empty table takes everything from gravity g and the length L: speeds are parts of sqrt(g L), times of
/// sqrt(L / g). They see the liquid at frames, so that `fluvial whitewater` gives the same afterwards on volumes. A
/// method that writes no volumes refuses it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WhitewaterSpec {
    /// The scene's length L, m, from which whatever is not given is derived; the height of the domain, along gravity, where
    /// none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub length: Option<f32>,
    /// How many times as many particles as by default.
    #[schemars(range(min = 0))]
    pub amount: f32,
    /// Velocity differences and curvatures are those of the liquid within this distance of the surface, m. By default L / 10, and at
    /// least two and a half cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub reach: Option<f32>,
    /// Velocity differences between neighbouring liquid that trap air, from none to all, m/s. By default 0.12 and 0.6 sqrt(g L).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trapped_air: Option<[f32; 2]>,
    /// Curvatures at which crests throw off spray, from none to all, 1/m. By default 8 / L and 32 / L.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crests: Option<[f32; 2]>,
    /// Kinetic energies that both take, from none to all, J/kg. By default 0.04 and 0.4 g L.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<[f32; 2]>,
    /// Particles of trapped air where both potentials are full, per area of surface and second, 1/(m2 s). By default
    /// 30 000 per L^2 and sqrt(L / g).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub air_rate: Option<f32>,
    /// The same for spray from crests, 1/(m2 s).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub crest_rate: Option<f32>,
    /// Speed at which spray falls through still air at last, m/s. By default 2 sqrt(g L).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub spray_fall_speed: Option<f32>,
    /// Speed at which bubbles rise through liquid at rest, m/s. By default 0.1 sqrt(g L).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub bubble_rise_speed: Option<f32>,
    /// Time in which a bubble takes on the liquid's velocity, s. By default 0.1 sqrt(L / g).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub bubble_response: Option<f32>,
    /// Mean lifetime of foam, s: from half to one and a half of it. By default 8 sqrt(L / g).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub foam_lifetime: Option<f32>,
    /// Foam lies nearer to the surface than this, m: spray above, bubbles below. By default the edge of a cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub layer: Option<f32>,
    /// Middle radius of the particles, m: from half to twice of it. By default L / 400.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub radius: Option<f32>,
    /// Velocity of the air, which drags spray along, m/s.
    pub wind: [f32; 3],
    /// Coefficient of friction of spray on walls and solids.
    #[schemars(range(min = 0))]
    pub friction: f32,
    /// Particles at one time. What would be more is not born, evenly everywhere, and counted in `run.json`.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub max_particles: u64,
    /// Another number gives other particles of the same whitewater.
    pub seed: u64,
}

impl Default for WhitewaterSpec {
    fn default() -> Self {
        WhitewaterSpec {
            length: None,
            amount: 1.0,
            reach: None,
            trapped_air: None,
            crests: None,
            energy: None,
            air_rate: None,
            crest_rate: None,
            spray_fall_speed: None,
            bubble_rise_speed: None,
            bubble_response: None,
            foam_lifetime: None,
            layer: None,
            radius: None,
            wind: [0.0; 3],
            friction: 0.5,
            max_particles: 1_000_000,
            seed: 0,
        }
    }
}

/// Without the keys that have no value: TOML has none of these.
fn without_nulls(json: &mut serde_json::Value) {
    match json {
        serde_json::Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(without_nulls);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}

impl Scene {
    /// The same scene with whitewater, some of its values changed (key, value): as if the scene's text had been changed, with
    /// the same checks.
    pub fn with_whitewater(self, changes: &[(String, String)]) -> Result<Scene, SceneError> {
        if self.whitewater.is_some() && changes.is_empty() {
            return Ok(self);
        }
        let mut json = self.resolved();
        without_nulls(&mut json);
        if json.get("whitewater").is_none() {
            json["whitewater"] = serde_json::json!({});
        }
        let text = toml::to_string(&json)
            .map_err(|e| SceneError::nowhere(e.to_string(), "the run's record was changed"))?;
        let under = |(key, value): &(String, String)| {
            let key = key.strip_prefix("whitewater.").unwrap_or(key);
            (format!("whitewater.{key}"), value.clone())
        };
        let changes: Vec<_> = changes.iter().map(under).collect();
        Scene::parse(&format!("{}.toml", self.name()), &text, Path::new("."), &changes)
    }

    /// What whitewater depends on; `None` where the scene has none.
    pub(crate) fn whitewater_params(&self, setup: &Setup) -> Result<Option<Params>, SceneError> {
        let Some(spec) = &self.whitewater else { return Ok(None) };
        if self.method.capabilities().volumes == Volumes::None {
            let message = format!("the method `{}` has no support for [whitewater]", self.method.name());
            let help =
                "it has no level set to follow: remove [whitewater], or choose another method in [method]";
            return Err(self.fail("whitewater", message, help));
        }
        if self.method.makes_whitewater() {
            let message =
                format!("the method `{}` makes spray and foam itself (`method.spray`)", self.method.name());
            return Err(self.fail("whitewater", message, "remove [whitewater], or set method.spray = 0"));
        }
        let gravity = setup.liquid.gravity;
        if gravity == Vec3::ZERO {
            let help = "remove [whitewater], or set gravity in [liquid]";
            return Err(self.fail(
                "whitewater",
                "whitewater needs gravity: bubbles rise and spray falls",
                help,
            ));
        }
        let size = setup.domain.bounds().size();
        let height = size.dot(gravity.abs()) / gravity.length();
        let scaled = Params::scaled(gravity, spec.length.unwrap_or(height), setup.domain.grid.dx);
        let ramp = |key: &str, given: Option<[f32; 2]>, otherwise: Ramp| match given {
            None => Ok(otherwise),
            Some([min, max]) if 0.0 <= min && min < max => Ok(Ramp { min, max }),
            Some(_) => Err(self.fail(
                &format!("whitewater.{key}"),
                "the two values do not grow from none to all",
                "write [least, largest], neither negative",
            )),
        };
        let fall_speed = spec.spray_fall_speed.unwrap_or(scaled.spray_response_s * gravity.length());
        Ok(Some(Params {
            gravity,
            wind: Vec3::from_array(spec.wind),
            reach_m: spec.reach.unwrap_or(scaled.reach_m),
            trapped_air: ramp("trapped_air", spec.trapped_air, scaled.trapped_air)?,
            crest: ramp("crests", spec.crests, scaled.crest)?,
            energy: ramp("energy", spec.energy, scaled.energy)?,
            air_rate_1_m2_s: spec.amount * spec.air_rate.unwrap_or(scaled.air_rate_1_m2_s),
            crest_rate_1_m2_s: spec.amount * spec.crest_rate.unwrap_or(scaled.crest_rate_1_m2_s),
            spray_response_s: fall_speed / gravity.length(),
            bubble_rise_m_s: spec.bubble_rise_speed.unwrap_or(scaled.bubble_rise_m_s),
            bubble_response_s: spec.bubble_response.unwrap_or(scaled.bubble_response_s),
            foam_lifetime_s: spec.foam_lifetime.unwrap_or(scaled.foam_lifetime_s),
            layer_m: spec.layer.unwrap_or(scaled.layer_m),
            radius_m: spec.radius.unwrap_or(scaled.radius_m),
            friction: spec.friction,
            rest_speed_m_s: scaled.rest_speed_m_s,
            most: spec.max_particles as usize,
            seed: spec.seed,
        }))
    }
}
