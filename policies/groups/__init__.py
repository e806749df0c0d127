"""Groups of users: services, members and serializers."""
