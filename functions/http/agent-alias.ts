import type { AppDependencies } from './dependencies.ts'

/** Returns the name of the agent that a facade's client names, by its own name or by an alias. */
export const aliasedAgent = ({ settings }: Pick<AppDependencies, 'settings'>, name: string): string =>
  settings.aliases?.get(name) ?? name
