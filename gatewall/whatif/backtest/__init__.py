"""What a change of policy would have done: recorded requests decided under today's policy, and under the change."""
