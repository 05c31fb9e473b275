//! The bytes of a fuzzer's input, which decide what a target does; zeros when they are used up.

/// What is left of the input; it is taken from the front.
pub struct Input<'b>(pub &'b [u8]);

impl<'b> Input<'b> {
    /// The next byte; 0 at the end.
    pub fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// Whether there are no more.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next bytes, as many as the array has.
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.byte())
    }

    /// Some of the next bytes: the first says how many.
    pub fn bytes(&mut self) -> &'b [u8] {
        let length = usize::from(self.byte()).min(self.0.len());
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    /// A number below a bound of at most 256.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound.max(1)
    }

    /// One of the values given; there is at least one.
    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}
