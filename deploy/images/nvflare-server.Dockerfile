# The server of NVIDIA FLARE with Hekat's aggregator: carries what sites seal, reads none of it.
# Pin it to the digest that your registry shows: --build-arg BASE=python@sha256:...
ARG BASE=python:3.11-slim-bookworm

# This stage is the same in every Dockerfile, so that a machine compiles once for all of them.
# hadolint ignore=DL3006
FROM ${BASE} AS wheel
# The compiler stays in this stage, so its version is whatever Debian has.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install --yes --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY pyproject.toml CMakeLists.txt README.md LICENSE ./
COPY native native
COPY src src
RUN python3 -m venv /opt/hekat && /opt/hekat/bin/pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM wheel AS install
COPY constraints.txt /pins.txt
ARG EXTRAS=nvflare
RUN /opt/hekat/bin/pip install --no-cache-dir --constraint /pins.txt "$(echo /wheels/*.whl)[${EXTRAS}]" \
 && /opt/hekat/bin/pip uninstall --yes --quiet pip

# hadolint ignore=DL3006
FROM ${BASE}
LABEL org.opencontainers.image.title="hekat-nvflare-server" \
      org.opencontainers.image.description="The server of NVIDIA FLARE with Hekat's aggregator: carries what sites seal, reads none of it" \
      org.opencontainers.image.version="0.2.0" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN groupadd --gid 10001 hekat \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin hekat
COPY --from=install /opt/hekat /opt/hekat
COPY deploy/images/health.py /opt/hekat/health.py
# Nothing is written but to /tmp and to what is mounted: the root may be read-only.
ENV PATH=/opt/hekat/bin:/usr/local/bin:/usr/bin:/bin \
    HOME=/tmp \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /tmp
EXPOSE 8002
# The start-up kit lies at /kit, read-only; the engine works on its copy in NVFL_WORKSPACE, which is memory.
ENV NVFL_WORKSPACE=/tmp/workspace
HEALTHCHECK --interval=20s --timeout=10s --start-period=60s --retries=3 \
  CMD ["python3", "-I", "/opt/hekat/health.py", "--kit", "/kit"]
CMD ["bash", "/kit/startup/sub_start.sh", "--once"]
