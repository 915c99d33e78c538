/* Evidence, limits: A tenant that the operator names has its own budget. */
/* Evidence, limits: A key's list of active runs fits into its item on DynamoDB. */
/* Evidence, house: A wrong variable or field of `agents.json` is named in one line. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { readLoopSettings, readSettings } from '../../../functions/runtime/settings/config.ts'
import { readIndexerSettings, readSweeperSettings } from '../../../functions/runtime/settings/function-settings.ts'
import { SettingsError } from '../../../functions/runtime/settings/settings-error.ts'
import type { ApiVariables, IndexerVariables, SweeperVariables } from '../../../functions/runtime/settings/config.ts'

describe('the settings', () => {
  test('require no variable', () => {
    expect(readSettings({})).toMatchObject({
      port: 3000,
      host: '127.0.0.1',
      dataFolder: './.tooltrail',
      model: 'demo/demo',
      logLevel: 'info',
    })
  })

  test('treat an empty variable as not set', () => {
    expect(readSettings({ PORT: '', MODEL: '' })).toMatchObject({ port: 3000, model: 'demo/demo' })
  })

  test.each([
    [{ ANTHROPIC_API_KEY: 'k' }, /^anthropic\//],
    [{ OPENAI_API_KEY: 'k' }, /^openai\//],
    [{ AWS_REGION: 'eu-central-1', AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 's' }, /^bedrock\//],
    [{ AWS_REGION: 'us-west-2', AWS_PROFILE: 'work' }, /^bedrock\/us\./],
    [{ AWS_REGION: 'eu-central-1', AWS_WEB_IDENTITY_TOKEN_FILE: '/token' }, /^bedrock\/eu\./],
    [{ AWS_REGION: 'ap-south-1', AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://169.254.170.23/' }, /^bedrock\/global\./],
    // A region alone does not select Bedrock.
    [{ AWS_REGION: 'eu-central-1' }, /^demo\/demo$/],
    [{ MODEL_BASE_URL: 'http://127.0.0.1:11434/v1', MODEL: 'llama' }, /^openai-compatible\/llama$/],
    [{ ANTHROPIC_API_KEY: 'k', MODEL: 'openai/x' }, /^openai\/x$/],
  ])('choose the default model from %o', (variables, model) => expect(readSettings(variables).model).toMatch(model))

  test('find Bedrock credentials as AWS tools do, including profiles', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tooltrail-profile-'))
    const file = join(folder, 'credentials')
    writeFileSync(file, '[work]\naws_access_key_id = from-the-profile\naws_secret_access_key = secret\n')
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', file)
    vi.stubEnv('AWS_CONFIG_FILE', join(folder, 'none'))
    vi.stubEnv('AWS_PROFILE', 'work')
    try {
      const { bedrock } = readSettings({ AWS_REGION: 'eu-central-1', AWS_PROFILE: 'work' }).modelSettings
      expect(await bedrock?.credentials?.()).toMatchObject({
        accessKeyId: 'from-the-profile',
        secretAccessKey: 'secret',
      })
    } finally {
      vi.unstubAllEnvs()
      rmSync(folder, { recursive: true })
    }
  })

  test.each([
    ['PORT', 'eighty'],
    ['PORT', '70000'],
    ['MODEL_BASE_URL', 'not a url'],
    ['LOG_LEVEL', 'loud'],
    ['TOOLTRAIL_BACKEND', 'azure'],
    ['TOOLTRAIL_CORS_ORIGINS', 'nonsense'],
    ['TOOLTRAIL_CORS_ORIGINS', 'https://app.example.com/'],
    ['TOOLTRAIL_ALLOWED_HOSTS', 'tools.example.com:99999'],
  ])('refuse a wrong %s', (name, value) => {
    expect(() => readSettings({ [name]: value })).toThrow(SettingsError)
    expect(() => readSettings({ [name]: value })).toThrow(name)
  })

  const ADDRESS = 'must be an http or https address, such as http://127.0.0.1:8080'
  const API = 'must be an http or https address that ends with /, as https://slack.com/api/ does'
  const SECONDS = 'must be above 0 and at most 270: Slack ends streams after 5 minutes'
  const ORIGINS = 'must be a list of origins, such as https://app.example.com, with commas between, or *'
  const HOSTS = 'must be a list of host or host:port (at most 65535), with commas between'

  test.each([
    ['MODEL_BASE_URL', 'not a url', ADDRESS],
    ['S3_ENDPOINT', 'ftp://127.0.0.1', ADDRESS],
    ['SLACK_API_URL', 'foo', API],
    ['SLACK_API_URL', 'https://slack.com/api', API],
    ['SLACK_STREAM_SECONDS', 'long', SECONDS],
    ['SLACK_STREAM_SECONDS', '0', SECONDS],
    ['SLACK_STREAM_SECONDS', '271', SECONDS],
    ['LOG_LEVEL', 'loud', 'must be "debug", "info", "warn", "error" or "silent"'],
    ['TOOLTRAIL_BACKEND', 'azure', 'must be "local" or "aws"'],
    ['TOOLTRAIL_INDEX', 'History', 'must be of a-z 0-9 - and begin with a letter'],
    ['TOOLTRAIL_CORS_ORIGINS', 'nonsense,other', ORIGINS],
    ['TOOLTRAIL_ALLOWED_HOSTS', '/,tools.example.com:99999', HOSTS],
    ['TOOLTRAIL_TENANT_BUDGETS', '{"acme": {"tokens_per_day": -1}}', 'acme.tokens_per_day: must be above 0'],
    ['TOOLTRAIL_TENANT_BUDGETS', '{"acme": {"tokens": 1}}', 'acme: there is no field "tokens"'],
  ])('explain in one line why %s cannot be %s', (name, value, reported) => {
    expect(() => readSettings({ [name]: value })).toThrow(new SettingsError(`${name}: ${reported}`))
  })

  test('report the missing variable of a function', () => {
    expect(() => readSweeperSettings({})).toThrow(/^TOOLTRAIL_TABLE: is missing: it must be a string$/m)
  })

  test('include the traces endpoint and decoded headers only if an endpoint is set', async () => {
    expect(readSettings({ OTEL_EXPORTER_OTLP_HEADERS: 'a=b' }).traces).toBeUndefined()
    const endpoint = 'http://127.0.0.1:4318'
    const { traces } = readSettings({
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=one%2Ctwo, authorization = Basic%20x==',
    })
    expect([traces?.endpoint, await traces?.headers()]).toEqual([
      endpoint,
      { 'x-key': 'one,two', authorization: 'Basic x==' },
    ])
  })

  test.each([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'never:4318' }, 'OTEL_EXPORTER_OTLP_ENDPOINT: must be an http or https address'],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'never' }, 'OTEL_EXPORTER_OTLP_HEADERS: must be of the form'],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'a=never%0a' }, 'OTEL_EXPORTER_OTLP_HEADERS: must be of the form'],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'a=never%zz' }, 'OTEL_EXPORTER_OTLP_HEADERS: must be of the form'],
    [{ OTEL_EXPORTER_OTLP_HEADERS: 'a=b,,c=never' }, 'OTEL_EXPORTER_OTLP_HEADERS: must be of the form'],
  ])('refuse %j without quoting a possible key', (variables, message) => {
    expect(() => readSettings(variables)).toThrow(message)
    expect(() => readSettings(variables)).not.toThrow('never')
  })

  test.each(['abc', '-1', '65536', '80.5', 'Infinity'])('report the valid values of PORT if it is %s', (value) => {
    const message = 'PORT: must be a port number, 1 to 65535, or 0 for any free one'
    expect(() => readSettings({ PORT: value })).toThrow(new SettingsError(message))
  })

  test.each(['0', '-1', '1.5', 'many', 'Infinity'])('report the valid values of a limit if it is %s', (value) => {
    const message = 'TOOLTRAIL_KEY_RPS: must be a whole number above 0'
    expect(() => readSettings({ TOOLTRAIL_KEY_RPS: value })).toThrow(new SettingsError(message))
  })

  test('limit the active runs of a key to the count that every store supports', () => {
    const of = (value: string) => readSettings({ TOOLTRAIL_KEY_ACTIVE_RUNS: value }).caps.keys.activeRuns
    expect(of('1000')).toBe(1_000)
    expect(() => of('1001')).toThrow(new SettingsError('TOOLTRAIL_KEY_ACTIVE_RUNS: must be at most 1000'))
    const calls = (value: string) => readSettings({ TOOLTRAIL_KEY_OPEN_CALLS: value }).caps.keys.openCalls
    expect(calls('1000')).toBe(1_000)
    expect(() => calls('1001')).toThrow(new SettingsError('TOOLTRAIL_KEY_OPEN_CALLS: must be at most 1000'))
  })

  test('set budgets for single tenants and explain an invalid budget', () => {
    const of = (value: string) => readSettings({ TOOLTRAIL_TENANT_BUDGETS: value }).caps.named
    expect(of('{"acme": {"tokens_per_day": 5, "usd_per_day": null}}')).toEqual(
      new Map([['acme', { tokensPerDay: 5, dollarsPerDay: null }]]),
    )
    expect(() => of('acme=5')).toThrow(/TOOLTRAIL_TENANT_BUDGETS: must be JSON/)
    expect(() => of('{"acme": {"tokens_per_day": -1}}')).toThrow(/TOOLTRAIL_TENANT_BUDGETS/)
    expect(() => of('{"acme": {"tokens": 1}}')).toThrow(/TOOLTRAIL_TENANT_BUDGETS/)
    expect(() => of('{"Acme Inc": {}}')).toThrow(/TOOLTRAIL_TENANT_BUDGETS/)
  })

  test('report each missing variable that the AWS backend requires', () => {
    const aws = { TOOLTRAIL_BACKEND: 'aws' }
    expect(() => readSettings(aws)).toThrow('OPENSEARCH_ENDPOINT')
    expect(() => readSettings({ ...aws, OPENSEARCH_ENDPOINT: 'http://127.0.0.1:1' })).toThrow('TOOLTRAIL_QUEUE_URL')
    const engines = { OPENSEARCH_ENDPOINT: 'http://127.0.0.1:1', SQS_ENDPOINT: 'http://127.0.0.1:2' }
    expect(readSettings({ ...aws, ...engines }).aws).toMatchObject({ table: 'tooltrail', region: 'us-east-1' })
    expect(readSettings({}).aws).toBeUndefined()
  })

  test('require a model name if a server is set', () => {
    expect(() => readSettings({ MODEL_BASE_URL: 'http://127.0.0.1:1/v1' })).toThrow(/^MODEL: /)
  })
})

describe('settings of functions', () => {
  const lambda = { AWS_REGION: 'eu-central-1', LAMBDA_TASK_ROOT: '/var/task' }
  const store = { TOOLTRAIL_ENVIRONMENT: 'dev', TOOLTRAIL_TABLE: 't', TOOLTRAIL_BUCKET: 'b', LOG_LEVEL: 'info' }
  const url = 'https://sqs.eu-central-1.amazonaws.com/1/runs'
  const queue = { ...store, TOOLTRAIL_QUEUE_URL: url }
  const sweeper: SweeperVariables = { ...queue, TOOLTRAIL_FAILURES_BUCKET: 'f' }
  const indexer: IndexerVariables = {
    ...queue,
    OPENSEARCH_ENDPOINT: 'https://x.aoss.amazonaws.com',
    TOOLTRAIL_POISON_URL: url,
  }
  const api: ApiVariables = {
    ...queue,
    OPENSEARCH_ENDPOINT: 'https://x.aoss.amazonaws.com',
    TOOLTRAIL_AGENTS: './agents.json',
    TOOLTRAIL_MODEL_SECRET: 'tooltrail-dev-models',
    TOOLTRAIL_STOP_MARGIN_SECONDS: '300',
  }

  test('are complete with the variables that the stacks provide', () => {
    expect(readLoopSettings({ ...lambda, ...api })).toMatchObject({
      agentsFile: { path: '/var/task/agents.json', named: true },
      stopMarginMs: 300_000,
      model: expect.stringMatching(/^bedrock\//) as string,
    })
    expect(readIndexerSettings({ ...lambda, ...indexer })).toMatchObject({ indexDeadLetterUrl: url, queueUrl: url })
    expect(readSweeperSettings({ ...lambda, ...sweeper })).toMatchObject({ table: 't', bucket: 'b' })
  })

  test.each(Object.keys(api))('report the variable %s if the loop lacks it', (name) => {
    if (name === 'LOG_LEVEL') return
    expect(() => readLoopSettings({ ...lambda, ...api, [name]: '' })).toThrow(name)
  })

  test('read no model key from the environment', () => {
    const settings = readLoopSettings({ ...lambda, ...api, ANTHROPIC_API_KEY: 'never' })
    expect(JSON.stringify(settings)).not.toContain('never')
  })
})
