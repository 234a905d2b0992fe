# Flower's SuperLink with Hekat's aggregator: carries what parties seal, reads none of it.
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
ARG EXTRAS=flower
RUN /opt/hekat/bin/pip install --no-cache-dir --constraint /pins.txt "$(echo /wheels/*.whl)[${EXTRAS}]" \
 && /opt/hekat/bin/pip uninstall --yes --quiet pip

# hadolint ignore=DL3006
FROM ${BASE}
LABEL org.opencontainers.image.title="hekat-flower-superlink" \
      org.opencontainers.image.description="Flower's SuperLink with Hekat's aggregator: carries what parties seal, reads none of it" \
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
EXPOSE 8000
# The aggregator's job.toml and site.toml lie in HEKAT_FLOWER. An app's dependencies are what this image has.
ENV HEKAT_FLOWER=/srv/hekat/aggregator \
    FLWR_HOME=/tmp/flwr \
    FLWR_TELEMETRY_ENABLED=0 \
    FLWR_DISABLE_UPDATE_CHECK=1
HEALTHCHECK --interval=20s --timeout=10s --start-period=60s --retries=3 \
  CMD ["python3", "-I", "/opt/hekat/health.py", "--https", "8000"]
CMD ["flower-superlink", "--host", "0.0.0.0", "--port", "8000", \
     "--ssl-ca-certfile", "/tls/ca.crt", "--ssl-certfile", "/tls/server.pem", "--ssl-keyfile", "/tls/server.key", \
     "--database", "/tmp/superlink.db", "--enable-supernode-auth", "--disable-runtime-dependency-installation"]
