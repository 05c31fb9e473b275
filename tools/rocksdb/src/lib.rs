//! Holds nothing: building its one dependency is the point.
