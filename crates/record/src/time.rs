//! Points and spans of time as types, so that seconds are never taken for milliseconds.

/// A point in time, or a span, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub u64);

/// A point in time, or a span, in whole seconds. 64 bits: 2038 and 2106 are ordinary seconds here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Secs(pub u64);

impl Millis {
    /// The whole second this instant lies in.
    #[must_use]
    pub const fn secs(self) -> Secs {
        Secs(self.0 / 1000)
    }

    /// This instant and a span after it; ends at the largest time instead of wrapping.
    #[must_use]
    pub const fn plus(self, span: Millis) -> Millis {
        Millis(self.0.saturating_add(span.0))
    }
}

impl Secs {
    /// The first millisecond of this second.
    #[must_use]
    pub const fn millis(self) -> Millis {
        Millis(self.0.saturating_mul(1000))
    }

    /// This second and a span after it; ends at the largest time instead of wrapping.
    #[must_use]
    pub const fn plus(self, span: Secs) -> Secs {
        Secs(self.0.saturating_add(span.0))
    }
}
