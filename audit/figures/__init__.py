"""Statistics: roll-ups of the access log, heavy hitters (Misra-Gries), totals, used resources."""
