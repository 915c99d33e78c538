import { z } from 'zod'

/** Schema of an ARN of this service. */
export const arn = (service: string): z.ZodString =>
  z.string().regex(new RegExp(`^arn:aws[a-z-]*:${service}:`), `is not an ARN of ${service}`)

/** Matches a text with only those characters that AWS allows in names and values of tags. */
const tag = z
  .string()
  .regex(/^[\p{L}\p{N}\p{Zs}_.:/=+\-@]*$/u, 'has other characters than letters, digits, spaces and _.:/=+-@')

/** Schema of `host` or `host:port`, in lower case, as written in an address. */
export const allowedHost = z
  .string()
  .regex(/^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/, 'is not a host or host:port')
  .refine((host) => Number(/:(\d+)$/.exec(host)?.[1] ?? 0) <= 65_535 || host.endsWith(']'), 'has a port above 65535')

/** Schema of an IPv4 or IPv6 address, or a range of them. */
export const addressRange = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: 'is not an address or a range, such as 203.0.113.0/24',
})

const idOf = (kind: string) => z.string().regex(new RegExp(`^${kind}-[0-9a-f]{8,17}$`), `is not the id of a ${kind}`)

/** Schema of a network of the account. It has the subnets of the functions, and an endpoint for the collection. */
export const network = z.strictObject({
  subnets: z.array(idOf('subnet')).min(1).max(16),
  securityGroups: z.array(idOf('sg')).min(1).max(5),
  /**
   * Id of an OpenSearch Serverless endpoint in the network. If set, the collection can be reached only through it.
   * Default: the collection is reachable over the internet, by signed requests.
   */
  collectionEndpoint: idOf('vpce').optional(),
})

/** Schema of an origin in the form that browsers send. An origin with a trailing slash would never match. */
export const origin = z
  .string()
  .regex(/^(?:\*|[a-z][a-z0-9+.-]*:\/\/[^/?#@\s,A-Z]+)$/, 'is no origin, such as https://app.example.com, and not *')

/** Schema of a restored table and its stream. */
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

/** Maximum number of tags that AWS allows for a resource. */
const MAX_TAGS = 50

/** Schema of tags: names and values. */
export const tags = z
  .record(
    tag
      .min(1)
      .max(128)
      .regex(/^(?!aws:)/i, 'begins with aws:'),
    tag.max(256),
  )
  .refine((all) => Object.keys(all).length < MAX_TAGS, `are more than ${MAX_TAGS - 1}, and AWS takes ${MAX_TAGS}`)

/** Schema of an address that accepts OTLP over HTTP. */
export const traceEndpoint = z
  .url({ protocol: /^https$/, error: 'is not an https address' })
  .regex(/^(?!.*\/v1\/traces\/?$)/, 'ends with /v1/traces, which is added')

const serverless = z.strictObject({
  kind: z.literal('serverless'),
  /**
   * Maximum number of capacity units: one limit for indexing and one for searching. The limits bound the bill. AWS
   * accepts only these numbers.
   */
  maxCapacity: z.literal([2, 4, 8, 16, 32, 48, 64, 80, 96]).default(4),
})

const domain = z.strictObject({
  kind: z.literal('domain'),
  instance: z.string().regex(/^[a-z0-9]+\.[a-z0-9]+\.search$/, 'is not an instance type, such as r7g.large.search'),
  nodes: z.int().positive().max(60),
  /** Size of each node's disk, in GiB. */
  volume: z.int().min(10).max(16_384).default(20),
  /**
   * Whether the domain has three zones, one of which is on standby, and separate master nodes. Not possible with t3
   * instances.
   */
  standby: z.boolean().default(false),
})

/** Schema of the history index: a collection that sleeps while it is not used, or a domain of nodes. */
export const searchKinds = z.discriminatedUnion('kind', [serverless, domain], {
  error: ({ code }) => (code === 'invalid_union' ? `must be 'serverless' or 'domain'` : undefined),
})
