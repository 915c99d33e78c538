import { LOG_LEVELS } from '../logger.ts'
import { SettingsError } from './settings-error.ts'

/**
 * Settings of the functions that execute no run: indexer and sweeper. They are read without zod, which would be a fifth
 * of these functions' code and of their cold start. Their error messages have the form of all other settings' messages.
 */
type Variables = Readonly<Record<string, unknown>>

export type IndexerSettings = ReturnType<typeof readIndexerSettings>
export type SweeperSettings = ReturnType<typeof readSweeperSettings>

/** Reads the settings of the indexer. Throws `SettingsError`, which names every wrong variable. */
export function readIndexerSettings(variables: Variables = process.env) {
  return readChecked(variables, (read) => ({
    ...storeSettings(read),
    search: { endpoint: read.address('OPENSEARCH_ENDPOINT'), index: read.indexName('TOOLTRAIL_INDEX') },
    indexDeadLetterUrl: read.address('TOOLTRAIL_POISON_URL'),
    copies: read.optional('TOOLTRAIL_INDEX_COPIES', read.count),
  }))
}

/** Reads the settings of the sweeper. Throws `SettingsError`, which names every wrong variable. */
export function readSweeperSettings(variables: Variables = process.env) {
  return readChecked(variables, (read) => ({
    ...storeSettings(read),
    failuresBucket: read.text('TOOLTRAIL_FAILURES_BUCKET'),
  }))
}

const storeSettings = (read: Reader) => ({
  environment: read.text('TOOLTRAIL_ENVIRONMENT'),
  region: read.text('AWS_REGION'),
  table: read.text('TOOLTRAIL_TABLE'),
  bucket: read.text('TOOLTRAIL_BUCKET'),
  queueUrl: read.address('TOOLTRAIL_QUEUE_URL'),
  logLevel: read.logLevel('LOG_LEVEL'),
  endpoints: { s3: read.optional('AWS_ENDPOINT_URL_S3', read.address) },
})

type Reader = ReturnType<typeof createReader>

/** Builds settings from variables. Collects the faults of all variables before it throws. */
function readChecked<Settings>(variables: Variables, build: (read: Reader) => Settings): Settings {
  const faults: string[] = []
  const settings = build(createReader(variables, (name, fault) => faults.push(`${name}: ${fault}`)))
  if (faults.length > 0) throw new SettingsError([...new Set(faults)].join('\n'))
  return settings
}

/**
 * Creates functions that read a variable, one for each form of value. They report a wrong variable, and the caller then
 * discards all values.
 */
function createReader(variables: Variables, report: (name: string, fault: string) => void) {
  const isSet = (name: string): boolean => variables[name] !== undefined && variables[name] !== ''
  function text(name: string): string {
    const value = variables[name]
    if (typeof value === 'string' && value !== '') return value
    report(name, isSet(name) ? 'must be a string' : 'is missing: it must be a string')
    return ''
  }
  function matching(name: string, isValid: (value: string) => boolean, fault: string): string {
    const value = isSet(name) ? text(name) : ''
    if (!isValid(value)) report(name, isSet(name) ? fault : `is missing: it ${fault}`)
    return value
  }
  return {
    text,
    address: (name: string): string =>
      matching(name, isHttpAddress, 'must be an http or https address, such as http://127.0.0.1:8080'),
    indexName: (name: string): string =>
      isSet(name)
        ? matching(name, (value) => /^[a-z][a-z0-9-]*$/.test(value), 'must be of a-z 0-9 - and begin with a letter')
        : 'history',
    count: (name: string): number =>
      Number(matching(name, (value) => /^\d{1,9}$/.test(value), 'must be a whole number, at least 0')),
    logLevel(name: string): (typeof LOG_LEVELS)[number] {
      const level = isSet(name) ? LOG_LEVELS.find((one) => one === variables[name]) : 'info'
      if (level === undefined) report(name, `must be one of ${LOG_LEVELS.join(', ')}`)
      return level ?? 'info'
    },
    /** Returns undefined if the variable is not set. */
    optional: <Value>(name: string, read: (name: string) => Value): Value | undefined =>
      isSet(name) ? read(name) : undefined,
  }
}

/** Returns whether a text is an address with a host. */
function isHttpAddress(value: string): boolean {
  const url = URL.parse(value)
  return url !== null && /^https?:$/.test(url.protocol) && url.hostname !== ''
}
