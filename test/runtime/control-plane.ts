import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

/** The responses of services without an engine: CloudFormation, CloudWatch, its logs, and OpenSearch's control plane. */
export interface ControlPlane {
  readonly endpoint: string
  /** Outputs by stack. */
  readonly stacks: Map<string, Readonly<Record<string, string>>>
  /** Maxima of each metric, newest first. The key consists of the metric's name and the values of its dimensions. */
  readonly metrics: Map<string, readonly number[]>
  /** Lines by log group. */
  readonly logs: Map<string, readonly { readonly timestamp: number; readonly message: string }[]>
  readonly domains: Map<string, object>
  close(): Promise<void>
}

interface MetricData {
  readonly MetricDataQueries: readonly [
    {
      readonly Id: string
      readonly MetricStat: {
        readonly Metric: { readonly MetricName: string; readonly Dimensions: readonly { readonly Value: string }[] }
      }
    },
  ]
}

/** Starts the services at wire level on loopback. */
export async function startControlPlane(): Promise<ControlPlane> {
  const stacks: ControlPlane['stacks'] = new Map()
  const metrics: ControlPlane['metrics'] = new Map()
  const logs: ControlPlane['logs'] = new Map()
  const domains: ControlPlane['domains'] = new Map()

  function respond(target: string, path: string, body: string): { status: number; type: string; body: string } {
    const json = (value: object, status = 200) => ({ status, type: 'application/json', body: JSON.stringify(value) })
    const domain = /^\/2021-01-01\/opensearch\/domain\/([^/]+)\/health$/.exec(path)?.[1]
    if (domain !== undefined)
      return json(domains.get(domain) ?? { message: 'no such domain' }, domains.has(domain) ? 200 : 409)
    if (target.endsWith('.GetMetricData')) {
      const {
        MetricDataQueries: [query],
      } = JSON.parse(body) as MetricData
      const { MetricName: name, Dimensions: dimensions } = query.MetricStat.Metric
      const values = metrics.get([name, ...dimensions.map(({ Value }) => Value)].join(' ')) ?? []
      return json({ MetricDataResults: [{ Id: query.Id, Values: values, StatusCode: 'Complete' }] })
    }
    if (target.endsWith('.FilterLogEvents')) {
      const { logGroupName, startTime, endTime } = JSON.parse(body) as {
        logGroupName: string
        startTime: number
        endTime: number
      }
      const lines = logs.get(logGroupName)
      if (lines === undefined) return json({ __type: 'ResourceNotFoundException', message: 'no such group' }, 400)
      return json({ events: lines.filter(({ timestamp }) => timestamp >= startTime && timestamp <= endTime) })
    }
    return describeStack(new URLSearchParams(body).get('StackName') ?? '')
  }

  function describeStack(name: string) {
    const outputs = stacks.get(name)
    const namespace = 'xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"'
    const type = 'text/xml'
    if (outputs === undefined) {
      const error = `<Error><Type>Sender</Type><Code>ValidationError</Code><Message>Stack with id ${name} does not exist</Message></Error>`
      return { status: 400, type, body: `<ErrorResponse ${namespace}>${error}</ErrorResponse>` }
    }
    const members = Object.entries(outputs).map(
      ([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`,
    )
    const stack = `<member><StackName>${name}</StackName><Outputs>${members.join('')}</Outputs></member>`
    const result = `<DescribeStacksResult><Stacks>${stack}</Stacks></DescribeStacksResult>`
    return { status: 200, type, body: `<DescribeStacksResponse ${namespace}>${result}</DescribeStacksResponse>` }
  }

  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const found = respond(String(request.headers['x-amz-target'] ?? ''), request.url ?? '', body)
      response.writeHead(found.status, { 'content-type': found.type }).end(found.body)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stacks,
    metrics,
    logs,
    domains,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
