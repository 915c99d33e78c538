import fc from 'fast-check'

/**
 * Seed of generated cases. It is the same on all machines, so a failure can be reproduced. `TEST_SEED` sets another
 * one.
 */
const SEED = Number(process.env['TEST_SEED'] ?? 20_260_105)

// A failing property reports its seed and path.
fc.configureGlobal({ seed: SEED })

export { fc }
