//! Scanning and escaping of JSON text, shared by every writer and the parser.
