# syntax=docker/dockerfile:1
# A static binary and CA certificates, nothing else; runs as a user without rights.
# No HEALTHCHECK: there is no shell or client in the image, and orchestrators probe
# /readyz of the admin listener themselves.

FROM golang:1.26-alpine AS build
RUN apk add --no-cache ca-certificates
WORKDIR /src
ENV CGO_ENABLED=0 GOTOOLCHAIN=local
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
RUN go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/penstock ./cmd/penstock

FROM scratch
ARG VERSION=unknown
LABEL org.opencontainers.image.title="penstock" \
      org.opencontainers.image.description="Gateway for LLM inference engines" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/penstock /penstock
COPY LICENSE /LICENSE
USER 65532:65532
EXPOSE 8080 9090
# SIGTERM drains: give it longer than shutdown.settle + shutdown.drain before SIGKILL.
STOPSIGNAL SIGTERM
ENTRYPOINT ["/penstock"]
CMD ["serve", "--config", "/etc/penstock/penstock.yaml"]
