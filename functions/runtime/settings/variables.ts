import * as z from 'zod'
import { httpAddress } from './setting-text.ts'
import type { Caps } from '../../access/rates.ts'
import { MAX_ACTIVE_RUNS, MAX_OPEN_REQUESTS } from '../../domain/keys/api-key.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { isTenant } from '../../domain/ids.ts'

const hostText = 'must be a list of host or host:port (at most 65535), with commas between'
const host = z
  .string()
  .regex(/^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/, hostText)
  .refine((text) => text.endsWith(']') || Number(/:(\d+)$/.exec(text)?.[1] ?? 0) <= 65_535, hostText)
/** An origin in the form that browsers send. An origin with a trailing slash would never match. */
const origin = z
  .string()
  .regex(
    /^(?:\*|[a-z][a-z0-9+.-]*:\/\/[^/?#@\s,A-Z]+)$/,
    'must be a list of origins, such as https://app.example.com, with commas between, or *',
  )
const entries = (text: string): string[] => text.split(',').map((entry) => entry.trim())

/** Variables that are lists. */
export const listVariables = {
  TOOLTRAIL_ALLOWED_HOSTS: z
    .string()
    .transform((text) => entries(text.toLowerCase()))
    .pipe(z.array(host))
    .optional(),
  TOOLTRAIL_CORS_ORIGINS: z.string().transform(entries).pipe(z.array(origin)).optional(),
}

const text = z.string().min(1)
const apiText = 'must be an http or https address that ends with /, as https://slack.com/api/ does'
const secondsText = 'must be above 0 and at most 270: Slack ends streams after 5 minutes'

/** Variables of a Slack app. */
export const slackVariables = {
  SLACK_BOT_TOKEN: text.optional(),
  SLACK_SIGNING_SECRET: text.optional(),
  SLACK_APP_TOKEN: text.optional(),
  SLACK_API_URL: z
    .url({ protocol: /^https?$/, error: apiText })
    .regex(/\/$/, apiText)
    .default('https://slack.com/api/'),
  SLACK_STREAM_SECONDS: z.coerce.number(secondsText).positive(secondsText).max(270, secondsText).default(240),
}

/** Returns the address of Slack's Web API, and the seconds after which a streamed reply continues in a new message. */
export const slackPlace = (values: { readonly SLACK_API_URL: string; readonly SLACK_STREAM_SECONDS: number }) => ({
  apiUrl: values.SLACK_API_URL,
  streamSeconds: values.SLACK_STREAM_SECONDS,
})

const PAIR = /^(?<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*=\s*(?<value>.*)$/

/**
 * Schema of `name=value,name=value`, the format of OpenTelemetry. The values are secret, so faults do not quote them.
 */
const headers = z.string().transform((text, { addIssue }): Readonly<Record<string, string>> => {
  const pairs = text.split(',').map((pair) => PAIR.exec(pair.trim())?.groups ?? {})
  const decoded = pairs.map(({ name, value = '' }) => [name, decode(value)] as const)
  const good = decoded.filter((pair): pair is [string, string] => pair[0] !== undefined && pair[1] !== undefined)
  if (good.length < pairs.length) addIssue('must be of the form name=value,name=value, with URL-encoded values')
  return Object.fromEntries(good)
})

/** Decodes a value. Returns undefined if no header can hold it. */
function decode(value: string): string | undefined {
  try {
    const text = decodeURIComponent(value)
    return /^[\x20-\x7e]*$/.test(text) ? text : undefined
  } catch {
    return undefined
  }
}

/** Schema of OpenTelemetry's variables for the destination of traces. */
export const traceVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: httpAddress.optional(),
  OTEL_EXPORTER_OTLP_HEADERS: headers.optional(),
}

const TraceValues = z.object(traceVariables)

/** Returns the destination of traces and the headers for it; undefined without a destination. */
export const traceSettings = ({
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  OTEL_EXPORTER_OTLP_HEADERS: headers = {},
}: z.output<typeof TraceValues>) => (endpoint === undefined ? undefined : { endpoint, headers: async () => headers })

const COUNT = 'must be a whole number above 0'
const count = z.coerce.number(COUNT).pipe(z.int(COUNT).positive(COUNT))
const atMost = (most: number) => count.pipe(z.number().max(most, `must be at most ${most}`))
const dollars = z.coerce.number('must be a number above 0').pipe(z.number().positive('must be above 0'))

const ofTenants = z
  .string()
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text)
    } catch {
      context.addIssue('must be JSON, like {"acme": {"tokens_per_day": 1000000, "usd_per_day": 20}}')
      return z.NEVER
    }
  })
  .pipe(
    z.record(
      z.string().refine(isTenant, 'must be 1–64 of a-z 0-9 -'),
      z.strictObject({
        tokens_per_day: z.int().positive().nullable().optional(),
        usd_per_day: z.number().positive().nullable().optional(),
      }),
    ),
  )

/** Schema of the variables that limit keys and tenants. */
export const capVariables = {
  TOOLTRAIL_KEY_RPS: count.optional(),
  TOOLTRAIL_KEY_ACTIVE_RUNS: atMost(MAX_ACTIVE_RUNS).optional(),
  TOOLTRAIL_KEY_OPEN_CALLS: atMost(MAX_OPEN_REQUESTS).optional(),
  TOOLTRAIL_KEY_TOKENS_PER_DAY: count.optional(),
  TOOLTRAIL_TENANT_TOKENS_PER_DAY: count.optional(),
  TOOLTRAIL_TENANT_USD_PER_DAY: dollars.optional(),
  TOOLTRAIL_TENANT_BUDGETS: ofTenants.optional(),
}

type CapValues = { readonly [name in keyof typeof capVariables]?: z.output<(typeof capVariables)[name]> | undefined }

/** Returns the limits that the variables set. */
export const capSettings = (values: CapValues): Caps => ({
  keys: definedFields({
    requestsPerSecond: values.TOOLTRAIL_KEY_RPS,
    activeRuns: values.TOOLTRAIL_KEY_ACTIVE_RUNS,
    openCalls: values.TOOLTRAIL_KEY_OPEN_CALLS,
    tokensPerDay: values.TOOLTRAIL_KEY_TOKENS_PER_DAY,
  }),
  tenants: definedFields({
    tokensPerDay: values.TOOLTRAIL_TENANT_TOKENS_PER_DAY,
    dollarsPerDay: values.TOOLTRAIL_TENANT_USD_PER_DAY,
  }),
  named: new Map(
    Object.entries(values.TOOLTRAIL_TENANT_BUDGETS ?? {}).map(([tenant, budget]) => [
      tenant,
      { tokensPerDay: budget.tokens_per_day, dollarsPerDay: budget.usd_per_day },
    ]),
  ),
})
