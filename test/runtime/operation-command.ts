import { execFile } from 'node:child_process'
import { definedFields } from '../../functions/domain/defined-fields.ts'
import { REGION } from '../engines/region.ts'

/** Replacements of AWS: the engines, and a server at `control` for all other services. */
interface Surroundings {
  readonly control: string
  readonly engines: { readonly dynamodb: string; readonly s3: string; readonly sqs: string }
  /** Default: the index of a deployed environment. */
  readonly index?: string
}

interface Ended {
  readonly code: number
  readonly out: string
  readonly error: string
}

const COMMAND_TIMEOUT_MS = 300_000

/** Runs `npm run <command> -- <words>` in a separate process, with the credentials of the engines. */
export function runOperation(
  command: string,
  words: readonly string[],
  { control, engines, index }: Surroundings,
): Promise<Ended> {
  const env = {
    PATH: process.env['PATH'],
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    HOME: '/nonexistent',
    AWS_REGION: REGION,
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'localsecret',
    AWS_ENDPOINT_URL: control,
    AWS_ENDPOINT_URL_DYNAMODB: engines.dynamodb,
    AWS_ENDPOINT_URL_S3: engines.s3,
    AWS_ENDPOINT_URL_SQS: engines.sqs,
    ...definedFields({ TOOLTRAIL_INDEX: index }),
  }
  const argv = ['functions/cli/tooltrail.ts', command, ...words]
  return new Promise((resolve) => {
    execFile(process.execPath, argv, { env, timeout: COMMAND_TIMEOUT_MS }, (failure, out, error) => {
      resolve({ code: failure === null ? 0 : Number(failure.code ?? -1), out, error })
    })
  })
}
