"""A model of time to live, and random requests through both doors that are held to it."""
