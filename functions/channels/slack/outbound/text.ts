/** Whether the text mentions this bot. */
export const mentions = (text: string, bot: string): boolean => mentionOf(bot).test(text)

/** A person's text without mentions of this bot, and with Slack's escapes decoded. */
export const withoutMention = (text: string, bot: string): string =>
  unescaped(text.replaceAll(mentionOf(bot, 'g'), ' ')).trim()

/** Decodes the three characters that Slack escapes. */
export const unescaped = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')

/** Escapes our own texts, so that names do not become mentions, links or formatting. */
export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/**
 * Disables broadcast mentions in text from a model, so that it cannot notify a channel, a group or the whole workspace.
 * The zero-width character is inserted after `<!`, so that streamed text which ends with `<!` does not change later.
 */
export const withoutBroadcasts = (text: string): string => text.replaceAll(/<!(?=[cehgs])/g, '<!\u2060')

/** Matches the mention with the spaces around it; one space stays between words. */
const mentionOf = (bot: string, flags = ''): RegExp => new RegExp(`[ \\t]*<@${bot}(?:\\|[^>]*)?>[ \\t]*`, flags)
