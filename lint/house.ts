import { dirname, relative, resolve, sep } from 'node:path'
import { importPath } from './lazy-cycles.ts'

/** Floors of the folders. A file may import another folder's files only if that folder is on a lower floor. */
export const FLOORS: { readonly [folder: string]: number } = {
  client: 1,
  domain: 1,
  log: 2,
  ports: 2,
  search: 2,
  access: 3,
  agent: 3,
  delivery: 3,
  history: 3,
  tools: 3,
  adapters: 4,
  channels: 4,
  http: 4,
  mcp: 4,
  runtime: 5,
  cli: 6,
  handlers: 6,
}
/**
 * Floors of subfolders within a folder. A file in no listed subfolder is on floor 0, below all listed subfolders.
 */
const SUBFOLDERS: { readonly [folder: string]: { readonly [subfolder: string]: number } } = {
  agent: { events: 1, loop: 1, worker: 2, imports: 3, service: 4 },
  runtime: { aws: 1, lambda: 2, local: 2 },
}
const CLOUD_PACKAGE = /^(@aws-sdk|@smithy|@opensearch-project|@types\/aws-lambda|aws-lambda)(\/|$)/
/** Matches the files that compose the program on AWS. */
const CLOUD_FILE = /^functions\/runtime\/(?:aws|lambda)\/[a-z-]+\.ts$/
/** Files of domain/ that may import one module of Node, each with the name of its module. */
const DOMAIN_MODULES: { readonly [file: string]: string } = {
  'functions/domain/hash.ts': 'node:crypto',
  'functions/domain/time/yield-to-event-loop.ts': 'node:timers/promises',
}
/** Files of client/ that may import types of the AI SDK. */
const AI_SDK_FILES = new Set(['functions/client/ai-sdk.ts', 'functions/client/followed-chat.ts'])
const NAMELESS = /(^|\/)(utils?|helpers?|common|misc|shared|index)(\/|\.ts$)/

interface Place {
  /** The file's folder. For adapters, it includes the technology: `adapters/sqlite`. */
  readonly folder: string
  readonly floor: number
  /** The file's subfolder, if it is listed in `SUBFOLDERS`; otherwise empty. */
  readonly subfolder: string
}

/**
 * Returns the reason why a file may not import `specifier`; undefined if it may. Paths are relative to the root and
 * contain `/`.
 */
export function refusal(file: string, specifier: string, typeOnly = false): string | undefined {
  if (/^(bin|lib)\//.test(file)) return refusedInfrastructure(file, specifier, typeOnly)
  const from = placeOf(file)
  if (from === undefined) return undefined
  if (!specifier.startsWith('.')) return refusedPackage(from, file, specifier, typeOnly)
  const target = relativePath(resolve('/', file, '..', specifier))
  const to = placeOf(target)
  // The runtime may import package.json, from which it reads the version that the program reports.
  if (target === 'package.json' && from.folder === 'runtime') return undefined
  if (to === undefined) return `functions/ must not import ${target}, which is not on a floor`
  if (to.folder === from.folder) return refusedSubfolder(from, to, target)
  if (to.folder.startsWith('adapters') && from.floor !== FLOORS['runtime'])
    return `only runtime/ imports adapters, and adapters never import one another: not ${target}`
  if (to.floor < from.floor) return undefined
  return `${from.folder} (floor ${from.floor}) must not import ${to.folder} (floor ${to.floor}): ${target}`
}

function refusedSubfolder({ folder, subfolder }: Place, to: Place, target: string): string | undefined {
  const order = SUBFOLDERS[folder]
  if (order === undefined || to.subfolder === subfolder) return undefined
  const [own, other] = [order[subfolder] ?? 0, order[to.subfolder] ?? 0]
  if (other < own) return undefined
  return `${folder}/${subfolder} (${own}) must not import ${folder}/${to.subfolder} (${other}): ${target}`
}

/**
 * Checks imports of the AWS stacks. From functions/, the stacks may import only types of the configuration, and the
 * module that describes faults of settings.
 */
function refusedInfrastructure(file: string, specifier: string, typeOnly: boolean): string | undefined {
  if (!specifier.startsWith('.')) return undefined
  const target = relativePath(resolve('/', file, '..', specifier))
  if (target.startsWith('lib/')) return undefined
  if (file.startsWith('bin/')) return `bin/ imports lib/: not ${target}`
  if (target === 'functions/runtime/settings/config.ts' && typeOnly) return undefined
  if (target === 'functions/runtime/settings/setting-text.ts') return undefined
  return `lib/ imports lib/, types of functions/runtime/settings/config.ts, and functions/runtime/settings/setting-text.ts: not ${target}`
}

function refusedPackage(from: Place, file: string, specifier: string, typeOnly: boolean): string | undefined {
  if (from.folder === 'domain' && specifier !== 'ulid' && DOMAIN_MODULES[file] !== specifier)
    return `domain/ imports nothing but ulid: not ${specifier}`
  const isPeerType = typeOnly && AI_SDK_FILES.has(file) && specifier === 'ai'
  if (from.folder === 'client' && !isPeerType)
    return `client/ imports no package, not even Node's own: not ${specifier}`
  const mayUseCloud = from.folder.startsWith('adapters/') || CLOUD_FILE.test(file)
  if (CLOUD_PACKAGE.test(specifier) && !mayUseCloud)
    return `${specifier} belongs to adapters/, runtime/aws/ and runtime/lambda/`
  if (/^(aws-cdk-lib|constructs|cdk-nag|esbuild)(\/|$)/.test(specifier)) return `${specifier} belongs to lib/`
  return undefined
}

function placeOf(path: string): Place | undefined {
  const [top, folder, next, ...rest] = path.split('/')
  const floor = folder === undefined ? undefined : FLOORS[folder]
  if (top !== 'functions' || folder === undefined || floor === undefined) return undefined
  const isAdapter = folder === 'adapters' && rest.length > 0
  const subfolder = next !== undefined && rest.length > 0 && SUBFOLDERS[folder]?.[next] !== undefined ? next : ''
  return { folder: isAdapter ? `adapters/${next}` : folder, floor, subfolder }
}

const relativePath = (absolute: string): string => relative('/', absolute).split(sep).join('/')

interface Node {
  readonly source?: { readonly value?: unknown } | null
  readonly importKind?: string
}
interface Context {
  readonly cwd: string
  readonly filename: string
  report(finding: { message: string; node: Node }): void
}

const fileOf = ({ cwd, filename }: Context): string => relative(cwd, filename).split(sep).join('/')

/** Checks every kind of import: static, type, re-export, `import()` and `import('…').Type`. */
const layers = {
  create(context: Context) {
    const check = (node: Node): void => {
      if (typeof node.source?.value !== 'string') return
      const message = refusal(fileOf(context), node.source.value, node.importKind === 'type')
      if (message !== undefined) context.report({ message, node })
    }
    return {
      ImportDeclaration: check,
      ImportExpression: check,
      TSImportType: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
    }
  },
}

const noReExport = {
  create(context: Context) {
    const check = (node: Node): void => {
      if (node.source) context.report({ message: 'import from where it is defined: no barrels', node })
    }
    return { ExportNamedDeclaration: check, ExportAllDeclaration: check }
  },
}

const tellingName = {
  create(context: Context) {
    return {
      Program(node: Node): void {
        const file = fileOf(context)
        if (NAMELESS.test(file)) context.report({ message: `${file}: name a file by what it holds`, node })
      },
    }
  },
}

/** Finds cycles that `import/no-cycle` does not see, because one of their imports is an `import()`. */
const noLazyCycle = {
  create(context: Context) {
    return {
      ImportExpression(node: Node): void {
        const path = node.source?.value
        if (typeof path !== 'string' || !path.startsWith('.')) return
        const cycle = importPath(resolve(dirname(context.filename), path), context.filename)
        if (cycle === undefined) return
        const files = cycle.map((file) => relative(context.cwd, file).split(sep).join('/'))
        context.report({ message: `import() is part of a cycle: ${files.join(' → ')}`, node })
      },
    }
  },
}

export default {
  meta: { name: 'house' },
  rules: { layers, 'no-lazy-cycle': noLazyCycle, 'no-re-export': noReExport, 'telling-name': tellingName },
}
