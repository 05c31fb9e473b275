//! One algebra for both languages: which entries of which index an answer is read from, in which order, and where a page of it
//! ends. Knows no query text and no protocol.
