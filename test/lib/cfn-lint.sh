#!/usr/bin/env bash
# Evidence, cloud: cdk-nag and cfn-lint report no finding in three environments.
# Holds the templates of all environments to CDK's checks, to cdk-nag, and to CloudFormation's own schemas: no error, no
# warning. Needs Python.
# W3005 is left out: CDK says `DependsOn` where a reference says it already.
set -euo pipefail
cd "$(dirname "$0")/../.."

VERSION=1.58.0
tools=${XDG_CACHE_HOME:-$HOME/.cache}/tooltrail/cfn-lint-$VERSION

if ! command -v python3 >/dev/null; then
  echo "cfn-lint was left out: there is no Python"
  [ -z "${CI:-}" ]
  exit
fi
if [ ! -x "$tools/bin/cfn-lint" ]; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check "cfn-lint==$VERSION"
fi

templates=$(mktemp -d)
trap 'rm -rf "$templates"' EXIT
CDK_VALIDATION=true node_modules/.bin/node test/lib/write-templates.ts "$templates"
"$tools/bin/cfn-lint" -i W3005 -r us-east-1 eu-central-1 -- "$templates"/*.template.json docs/operations/build-project.yaml
