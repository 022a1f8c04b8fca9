//! A room of the house; its parts follow.
