#!/usr/bin/env bash
# Generated requests against the running program: no 5xx, and no answer outside of /openapi.json. Needs Python.
set -euo pipefail
cd "$(dirname "$0")/../.."
SECONDS_AT_MOST=${SECONDS_AT_MOST:-180}

folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" || true; wait; rm -rf "$folder"' EXIT

python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check schemathesis==4.32.5

PORT=0 TOOLTRAIL_DATA="$folder/data" MODEL=demo/demo LOG_LEVEL=error \
  node_modules/.bin/node functions/handlers/local.ts >"$folder/output" &
server=$!
for _ in $(seq 100); do
  url=$(grep -oE 'http://[0-9.]+:[0-9]+' "$folder/output" | head -n 1) && break
  kill -0 "$server"
  sleep 0.1
done

# It leaves files where it runs.
cd "$folder"
venv/bin/st run "$url/openapi.json" \
  --checks not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance \
  --seed 1 --generation-database none --max-time "$SECONDS_AT_MOST" --request-timeout 90 --warnings off
