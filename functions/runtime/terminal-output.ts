/** What a terminal would take for a command: control characters but line breaks and tabs, and what turns letters round. */
const CONTROL = /(?![\n\t])[\p{Cc}\p{Bidi_Control}]/gu

const ESCAPE = '\u001B'
/** Commands of our own: colours, and a line that replaces the one before. */
const OWN_COMMANDS = new RegExp(`(${ESCAPE}\\[[\\d;]{0,16}m|\\r${ESCAPE}\\[K)`, 'u')

/** Text of models, tools and people as a terminal may show it: it can neither move the cursor nor change the order of letters. */
export const harmless = (text: string): string => text.replaceAll('\r\n', '\n').replaceAll(CONTROL, '�')

/** Text as the terminal gets it: without what it would execute, except for colours and lines that replace each other. */
export const terminalText = (text: string): string =>
  text
    .split(OWN_COMMANDS)
    .map((part, place) => (place % 2 === 1 ? part : harmless(part)))
    .join('')

/** Writes to standard output or standard error. Everything that a person may read in a terminal goes through here. */
export const writeToTerminal = (stream: 'stdout' | 'stderr', text: string): void =>
  void process[stream].write(terminalText(text))
