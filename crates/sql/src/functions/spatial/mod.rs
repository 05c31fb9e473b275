//! Geometry on the globe.

pub(super) mod st_area;
pub(super) mod st_distance;
pub(super) mod st_intersects;
pub(super) mod st_isvalid;
pub(super) mod st_isvaliddetailed;
pub(super) mod st_within;
