#!/usr/bin/env bash
# Writes `properties.json` anew: the create-only properties, also the conditional ones, of every resource type that the templates use, by the schemas of
# CloudFormation that cfn-lint ships. Run it after a change of the version below, or when the templates use a new type. Needs Python.
set -euo pipefail
cd "$(dirname "$0")/../../.."

VERSION=1.58.0
tools=${XDG_CACHE_HOME:-$HOME/.cache}/tooltrail/cfn-lint-$VERSION
if [ ! -x "$tools/bin/cfn-lint" ]; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check "cfn-lint==$VERSION"
fi

templates=$(mktemp -d)
trap 'rm -rf "$templates"' EXIT
node_modules/.bin/node test/lib/write-templates.ts "$templates"
"$tools/bin/python" - "$templates" "$VERSION" >test/lib/create-only/properties.json <<'PYTHON'
import json, os, sys
from pathlib import Path
import cfnlint

templates, version = sys.argv[1:]
schemas = Path(cfnlint.__file__).parent / "data" / "schemas"
by_type = json.loads((schemas / "providers" / "us-east-1.json").read_text())
types = {r["Type"] for f in Path(templates).glob("*.json") for r in json.loads(f.read_text())["Resources"].values()}
found = {}
for kind in sorted(types):
    schema = json.loads((schemas / "resources" / f"{by_type[kind]}.json").read_text())
    paths = schema.get("createOnlyProperties", []) + schema.get("conditionalCreateOnlyProperties", [])
    found[kind] = sorted(path.removeprefix("/properties/") for path in paths)
print(json.dumps({"source": f"cfn-lint {version}", "types": found}, indent=2))
PYTHON
