"""Plans (dry runs): what a proposed change of policy would do, and its application."""
