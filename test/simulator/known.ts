/** What the generator can do to the program beside what it does by default. */
export const HAZARDS = [
  'repeated call ids',
  'failed results',
  'unknown rounds',
  'silence',
  'deaf models',
  'cut off calls',
  'begun calls',
  'crashes while loading',
] as const
export type Hazard = (typeof HAZARDS)[number]

export const KNOWN: readonly Hazard[] = ['silence', 'crashes while loading']
