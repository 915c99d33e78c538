import fc from 'fast-check'

/** What generated cases come from: the same everywhere, so that what fails in one place fails in all. `TEST_SEED` tries others. */
const SEED = Number(process.env['TEST_SEED'] ?? 20_260_105)

// A property that fails says its seed and path.
fc.configureGlobal({ seed: SEED })

export { fc }
