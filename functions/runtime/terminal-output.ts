/**
 * Characters that a terminal may interpret as commands: control characters except line breaks and tabs, and characters
 * that change the text direction.
 */
const CONTROL = /(?![\n\t])[\p{Cc}\p{Bidi_Control}]/gu

const ESCAPE = '\u001B'
/** Escape sequences that we write: colours, and a line that replaces the previous one. */
const OWN_COMMANDS = new RegExp(`(${ESCAPE}\\[[\\d;]{0,16}m|\\r${ESCAPE}\\[K)`, 'u')

/**
 * Makes text of models, tools and people safe for a terminal: it can neither move the cursor nor change the order of
 * letters.
 */
export const harmless = (text: string): string => text.replaceAll('\r\n', '\n').replaceAll(CONTROL, '�')

/** Makes text safe for a terminal, but keeps our own colours and line replacements. */
export const terminalText = (text: string): string =>
  text
    .split(OWN_COMMANDS)
    .map((part, place) => (place % 2 === 1 ? part : harmless(part)))
    .join('')

/** Writes to standard output or standard error. All text for a terminal goes through this function. */
export const writeToTerminal = (stream: 'stdout' | 'stderr', text: string): void =>
  void process[stream].write(terminalText(text))
