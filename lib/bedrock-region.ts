import { EnvironmentError } from './environments.ts'

/**
 * For each prefix of an inference profile's name: a pattern of the regions from which such a profile certainly cannot
 * be called.
 */
const ELSEWHERE: { readonly [profile: string]: RegExp } = {
  us: /^(eu|ap|sa|me|af|il|cn|us-gov)-/,
  'us-gov': /^(?!us-gov-)/,
  eu: /^(us|ca|mx|ap|sa|af|cn)-/,
  apac: /^(us|ca|mx|eu|sa|af|cn)-/,
  jp: /^(?!ap-northeast-)/,
  au: /^(?!ap-southeast-)/,
  ca: /^(?!ca-)/,
  sa: /^(?!sa-)/,
  global: /^(us-gov|cn)-/,
}

/**
 * Throws `EnvironmentError` if a Bedrock model cannot be called from the region, judged by its inference profile or its
 * ARN. Without this check, the deployment would succeed, and every run would fail.
 */
export function checkBedrockRegion(model: string, region: string): void {
  const own = /^arn:[^:]*:bedrock:([^:]*):/.exec(model)?.[1] ?? region
  if (own !== region)
    throw new EnvironmentError(`model: bedrock/${model} is in ${own}, and cannot be called from ${region}`)
  const profile = /^([a-z-]+)\./.exec(model)?.[1] ?? ''
  if (ELSEWHERE[profile]?.test(region) !== true) return
  const name = model.slice(profile.length + 1)
  const other = region.startsWith('us-gov-') ? 'us-gov' : 'global'
  throw new EnvironmentError(
    `model: bedrock/${model} is an inference profile that cannot be called from ${region}. ` +
      `Choose one that can, such as bedrock/${other}.${name}, or another region`,
  )
}
