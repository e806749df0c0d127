"""The proxy doctor: asks a site through its proxy, and says what the gate was told of it."""
