import { readSweeperSettings } from '../runtime/settings/function-settings.ts'
import { createSweeperHandler } from '../runtime/lambda/sweeper.ts'

/** Lambda, on a schedule: finds work that lost hints and dead processes left behind. */
export const handler = createSweeperHandler(readSweeperSettings())
