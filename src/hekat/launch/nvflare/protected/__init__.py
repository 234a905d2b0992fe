"""Training apps of NVIDIA FLARE whose updates Hekat sums: filters around the app's task, and roles in threads beside
it."""
