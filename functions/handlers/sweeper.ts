import { readSweeperSettings } from '../runtime/settings/config.ts'
import { createSweeperHandler } from '../runtime/lambda/sweeper.ts'

/** Lambda, on a schedule: finds what lost hints and dead processes left. */
export const handler = createSweeperHandler(readSweeperSettings())
