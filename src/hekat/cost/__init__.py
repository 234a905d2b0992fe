"""What a run will take: bytes and seconds by role, before anything is sent."""
