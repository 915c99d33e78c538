import { findChromium } from './chromium.ts'

/** Throws if no Chromium is installed. */
export default function requireChromium(): void {
  if (findChromium() === undefined)
    throw new Error('this needs Chromium, and there is none: install it (on Debian: apt-get install chromium)')
}
