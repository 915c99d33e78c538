#!/usr/bin/env bash
# Evidence, house: The first command needs only Node 20 and npm, and installs at most 350 MB.
# The README's first command in a fresh clone of the last commit, with an empty npm cache: installs no more than 350 MB, and starts
# a program that serves. Says how long each took; promises of times hold on a machine that does nothing else.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=$(mktemp -d)
program=
end() {
  if [ -n "$program" ]; then kill -TERM "$program" 2>/dev/null && wait "$program" || true; fi
  rm -rf "$folder"
}
trap end EXIT

git clone --quiet . "$folder/clone"
cd "$folder/clone"
command=$(grep -m 1 -o 'npm ci.* && npm start' README.md)
began=$SECONDS
${command% && *} --cache "$folder/cache"
megabytes=$(du -sm node_modules | cut -f 1)
echo "${command% && *}: $((SECONDS - began)) s, $megabytes MB"
[ "$megabytes" -le 350 ]

began=$SECONDS
PORT=0 npm start >"$folder/said" 2>&1 &
program=$!
until url=$(grep -o 'http://[0-9.:]*' "$folder/said"); do
  kill -0 "$program" || { cat "$folder/said"; exit 1; }
  sleep 0.1
done
url=${url%%$'\n'*}
echo "npm start: $((SECONDS - began)) s, $(node_modules/.bin/node -v), on $url"
for path in /healthz /openapi.json /docs; do
  curl --silent --show-error --fail --output /dev/null --write-out "$path %{http_code}, %{size_download} bytes\n" "$url$path"
done
