import { z } from 'zod'

/** An ARN of this service. */
export const arn = (service: string): z.ZodString =>
  z.string().regex(new RegExp(`^arn:aws[a-z-]*:${service}:`), `is not an ARN of ${service}`)

/** What AWS allows in the names and values of tags. */
const tag = z
  .string()
  .regex(/^[\p{L}\p{N}\p{Zs}_.:/=+\-@]*$/u, 'has other characters than letters, digits, spaces and _.:/=+-@')

/** In lower case, as an address has it. */
export const allowedHost = z
  .string()
  .regex(/^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/, 'is not a host or host:port')
  .refine((host) => Number(/:(\d+)$/.exec(host)?.[1] ?? 0) <= 65_535 || host.endsWith(']'), 'has a port above 65535')

/** An IPv4 or IPv6 address, or a range of them. */
export const addressRange = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: 'is not an address or a range, such as 203.0.113.0/24',
})

const idOf = (kind: string) => z.string().regex(new RegExp(`^${kind}-[0-9a-f]{8,17}$`), `is not the id of a ${kind}`)

/** A network of the account: where functions run, and the endpoint through which alone a collection is reached. */
export const network = z.strictObject({
  subnets: z.array(idOf('subnet')).min(1).max(16),
  securityGroups: z.array(idOf('sg')).min(1).max(5),
  /** An endpoint of OpenSearch Serverless in the network. Left out: the collection is reached over the internet, by signed requests. */
  collectionEndpoint: idOf('vpce').optional(),
})

/** As browsers send it: with a slash at the end it would never be theirs. */
export const origin = z
  .string()
  .regex(/^(?:\*|[a-z][a-z0-9+.-]*:\/\/[^/?#@\s,A-Z]+)$/, 'is no origin, such as https://app.example.com, and not *')

/** A table and the stream of its changes. */
export const restoredTable = z
  .strictObject({
    name: z.string().regex(/^[A-Za-z0-9_.-]{3,255}$/, 'is not the name of a table'),
    stream: z
      .string()
      .regex(/^arn:aws[a-z-]*:dynamodb:[^:]+:\d{12}:table\/[^/]+\/stream\/.+$/, "is not the ARN of a table's stream"),
  })
  .refine(({ name, stream }) => stream.includes(`:table/${name}/stream/`), {
    path: ['stream'],
    message: 'is the stream of another table',
  })

/** Of one resource, as AWS counts. */
const MAX_TAGS = 50

/** Names and values. */
export const tags = z
  .record(
    tag
      .min(1)
      .max(128)
      .regex(/^(?!aws:)/i, 'begins with aws:'),
    tag.max(256),
  )
  .refine((all) => Object.keys(all).length < MAX_TAGS, `are more than ${MAX_TAGS - 1}, and AWS takes ${MAX_TAGS}`)

/** Takes OTLP over HTTP. */
export const traceEndpoint = z
  .url({ protocol: /^https$/, error: 'is not an https address' })
  .regex(/^(?!.*\/v1\/traces\/?$)/, 'ends with /v1/traces, which is added')

const serverless = z.strictObject({
  kind: z.literal('serverless'),
  /** Most capacity units for indexing and for searching, each: this limits the bill. AWS takes these numbers and no others. */
  maxCapacity: z.literal([2, 4, 8, 16, 32, 48, 64, 80, 96]).default(4),
})

const domain = z.strictObject({
  kind: z.literal('domain'),
  instance: z.string().regex(/^[a-z0-9]+\.[a-z0-9]+\.search$/, 'is not an instance type, such as r7g.large.search'),
  nodes: z.int().positive().max(60),
  /** GiB of each node. */
  volume: z.int().min(10).max(16_384).default(20),
  /** Three zones, one of them on standby, with master nodes of their own. Not with t3 instances. */
  standby: z.boolean().default(false),
})

/** The history index: asleep while nobody uses it, or a domain of nodes. */
export const searchKinds = z.discriminatedUnion('kind', [serverless, domain], {
  error: ({ code }) => (code === 'invalid_union' ? `must be 'serverless' or 'domain'` : undefined),
})
