import * as z from 'zod'
import { httpAddress } from './setting-text.ts'

const PAIR = /^(?<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*=\s*(?<value>.*)$/

/** `name=value,name=value` as OpenTelemetry has it. Values are keys: what is wrong is not quoted. */
const headers = z.string().transform((text, { addIssue }): Readonly<Record<string, string>> => {
  const pairs = text.split(',').map((pair) => PAIR.exec(pair.trim())?.groups ?? {})
  const decoded = pairs.map(({ name, value = '' }) => [name, decode(value)] as const)
  const good = decoded.filter((pair): pair is [string, string] => pair[0] !== undefined && pair[1] !== undefined)
  if (good.length < pairs.length) addIssue('must be of the form name=value,name=value, with URL-encoded values')
  return Object.fromEntries(good)
})

/** Undefined for what no header can hold. */
function decode(value: string): string | undefined {
  try {
    const text = decodeURIComponent(value)
    return /^[\x20-\x7e]*$/.test(text) ? text : undefined
  } catch {
    return undefined
  }
}

/** The variables of OpenTelemetry that say where traces go. */
export const traceVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: httpAddress.optional(),
  OTEL_EXPORTER_OTLP_HEADERS: headers.optional(),
}

const Values = z.object(traceVariables)

/** Where traces go, and what is sent with them; undefined where they go nowhere. */
export const traceSettings = ({
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  OTEL_EXPORTER_OTLP_HEADERS: headers = {},
}: z.output<typeof Values>) => (endpoint === undefined ? undefined : { endpoint, headers: async () => headers })
