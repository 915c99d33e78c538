import { App, Stack } from 'aws-cdk-lib'
import { Template } from 'aws-cdk-lib/assertions'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { Tooltrail } from '../../lib/constructs/tooltrail.ts'
import type { TooltrailProps } from '../../lib/constructs/tooltrail.ts'
import { shipAgents } from '../../lib/shipped-agents.ts'

const folder = mkdtempSync(join(tmpdir(), 'tooltrail-infra-'))
afterAll(() => rmSync(folder, { recursive: true }))

const agentsFile = (text: string): string => {
  const path = join(folder, `${crypto.randomUUID()}.json`)
  writeFileSync(path, text)
  return path
}

/** Returns the template of the construct in another app, which does not have the flags of `cdk.json`. */
function foreign(props: TooltrailProps, id = 'Agents'): Template {
  const stack = new Stack(new App({ context: { 'aws:cdk:bundling-stacks': [] } }), 'TheirStack')
  new Tooltrail(stack, id, props)
  return Template.fromStack(stack)
}

describe('the backend in another app', () => {
  test('creates all required resources, and retains data', () => {
    const template = foreign({})
    for (const [type, count] of [
      ['AWS::Lambda::Function', 4],
      ['AWS::SQS::Queue', 3],
      ['AWS::DynamoDB::Table', 1],
      ['AWS::OpenSearchServerless::Collection', 1],
      ['AWS::ApiGateway::RestApi', 1],
      ['AWS::Events::Rule', 1],
    ] as const)
      template.resourceCountIs(type, count)
    template.hasResource('AWS::DynamoDB::Table', {
      DeletionPolicy: 'RetainExceptOnCreate',
      Properties: {
        DeletionProtectionEnabled: true,
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      },
    })
    expect(JSON.stringify(template.toJSON())).toContain('"MODEL":"demo/demo"')
  })

  test('has names that AWS services accept, whatever the path of the construct', () => {
    for (const id of ['Agents', 'A', 'VeryLongNamesAreNoProblemForTheConstructTree', '1st']) {
      const resources = Object.values(
        (foreign({}, id).toJSON() as { Resources: Record<string, { Type: string; Properties: { Name?: string } }> })
          .Resources,
      ).filter(({ Type }) => Type.startsWith('AWS::OpenSearchServerless'))
      expect(resources).toHaveLength(7)
      for (const { Type, Properties } of resources)
        expect(Properties.Name, Type).toMatch(
          Type.endsWith('::Collection') ? /^[a-z][a-z0-9-]{2,27}$/ : /^[a-z][a-z0-9-]{2,31}$/,
        )
    }
  })
})

describe('the agents of a deployment', () => {
  test('require an existing file if one is named', () => {
    const path = join(folder, 'agnts.json')
    expect(() => shipAgents(path)).toThrow(`agentsFile: ${path}: ENOENT`)
  })

  test('consist of the built-in agent if no file is named, whatever the working directory contains', () =>
    expect(JSON.parse(shipAgents(undefined).json)).toEqual({ agents: {} }))

  test('contain the complete file', () => {
    const file = { agents: { researcher: { model: 'openai/gpt-5.6', policies: { max_rounds: 3 } } } }
    const shipped = shipAgents(agentsFile(JSON.stringify(file)))
    expect(JSON.parse(shipped.json)).toEqual(file)
    expect(shipped.models).toEqual(['openai/gpt-5.6'])
  })

  test('include the models of their summaries and titles, which the functions may call', () => {
    const consolidation = (value: object | false) => ({ model: 'bedrock/one', policies: { consolidation: value } })
    const agents = {
      a: consolidation({ threshold: 50, model: 'bedrock/two' }),
      b: consolidation({ threshold: 50 }),
      c: consolidation(false),
      d: { policies: { titles: { model: 'bedrock/three' } } },
      e: { policies: { titles: 'input' } },
    }
    const { models } = shipAgents(agentsFile(JSON.stringify({ agents })))
    expect(models.toSorted()).toEqual(['bedrock/one', 'bedrock/one', 'bedrock/one', 'bedrock/three', 'bedrock/two'])
  })

  test('including the default agent, use the TTL of the environment unless they set their own', () => {
    const agents = { agents: { a: {}, b: { policies: { ttl_days: 7 } }, c: { policies: { ttl_days: null } } } }
    expect(JSON.parse(shipAgents(agentsFile(JSON.stringify(agents)), 90).json)).toEqual({
      agents: {
        default: { policies: { ttl_days: 90 } },
        a: { policies: { ttl_days: 90 } },
        b: { policies: { ttl_days: 7 } },
        c: { policies: { ttl_days: null } },
      },
    })
  })

  test.each(['{', '{"agents": []}', '{"agents": {"a": {"model": 1}}}'])('in %s are refused with the path', (text) => {
    const path = agentsFile(text)
    expect(() => shipAgents(path)).toThrow(`agentsFile: ${path}: `)
  })
})
