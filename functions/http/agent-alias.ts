import type { AppDependencies } from './dependencies.ts'

/** Returns the name of an agent from the name that a facade's client sends: the agent's own name or an alias. */
export const aliasedAgent = ({ settings }: Pick<AppDependencies, 'settings'>, name: string): string =>
  settings.aliases?.get(name) ?? name
