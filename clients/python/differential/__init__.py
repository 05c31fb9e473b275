"""Random documents and commands, and the comparison of two servers' answers to them."""
