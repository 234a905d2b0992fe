"""Roles of a job as sites of NVIDIA FLARE. Needs the extra `nvflare`; nothing outside imports `executor`, `controller`,
`aux_messages` or `recipe` without it."""
