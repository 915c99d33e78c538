import { inFile } from './mutant.ts'

const LOG = 'functions/log'
const LOOP = 'functions/agent/loop'

/**
 * Mutants of the model request: summaries, truncation, sources and media, and the time at which decisions about them
 * are recorded.
 */
export const CONTEXT_MUTANTS = [
  ...inFile('functions/log/request/consolidation.ts', [
    ['a summary is made at the threshold', 'count > threshold && ', 'count >= threshold && '],
    ['a ratio of 1 consolidates', ' && keepRecentRatio < 1', ''],
    ['a summary is near one message later', 'count >= threshold - NEARLY', 'count > threshold - NEARLY'],
    ['nothing need be kept', 'Math.max(1, Math.floor(', 'Math.max(0, Math.floor('],
    ['shares of a threshold are not rounded', 'threshold * keepRecentRatio + 1e-9', 'threshold * keepRecentRatio'],
    ['members are summarised', '      if (!isLeaders(message)) return\n', ''],
    ['tool events count', 'if (counts) stayConversational++', 'stayConversational++'],
    ['the cut falls on the newest that goes', 'through ??= message.id', 'through = message.id'],
    ['tool events alone are summarised', 'through === undefined || messages === 0', 'through === undefined'],
    ['any number of parts is asked for', 'const read = parts.slice(0, MAX_REQUESTS)', 'const read = parts.slice(0)'],
    ['what is left out is not told', 'if (parts.length > MAX_REQUESTS) read', 'if (parts.length < 0) read'],
    ['the newest part comes first', "join('\\n')).toReversed()", "join('\\n'))"],
    ['the former summary is forgotten', 'former === undefined ?', 'former !== null ?'],
  ]),
  ...inFile('functions/log/request/context-cut.ts', [
    ['a cut leaves the least that it may', 'Math.abs(tokens - maxTokens * MIDDLE_SHARE)', 'tokens'],
    ['a refused request comes again nearly whole', 'const AFTER_REFUSAL = 2 / 3', 'const AFTER_REFUSAL = 3 / 4'],
    [
      'inputs of the turn leave',
      "message.role === 'user' && turn.has(message)",
      "message.role === 'user' && turn.size === 0",
    ],
    ['what has left comes back', "message.id < (context.cut?.from ?? '')", "message.id < ''"],
    [
      'what is not loaded is no part of a cut',
      'const before = context.cut ?? older',
      'const before = context.cut ?? { messages: 0, conversational: 0 }',
    ],
  ]),
  ...inFile('functions/log/request/context-window.ts', [
    ['more than fits is not loaded', 'const LOADED = 1.5', 'const LOADED = 0.5'],
    ['what was skipped is not missed', 'isWhole: !skipped && (', 'isWhole: ('],
    [
      'a turn that is too large is loaded in part',
      "turn.at(-1)?.role !== 'user' && turnWeight <= most",
      "turn.at(-1)?.role === 'none'",
    ],
  ]),
  ...inFile('functions/log/request/request-context.ts', [
    ['errors are part of the conversation', "  if (parts.some((part) => part.type === 'error')) return false\n", ''],
    [
      'rounds are part of the conversation',
      '&& message.toolCalls.length > 0) return false',
      '&& message.toolCalls.length > 99) return false',
    ],
    ['the note comes before the summary', 'opening.push(userText(CUT_NOTE))', 'opening.unshift(userText(CUT_NOTE))'],
    [
      'what a summary stands for goes out',
      'message.id <= summary.through) return false',
      'message.id < summary.through) return false',
    ],
  ]),
  ...inFile(`${LOG}/sources.ts`, [
    ['numbers begin at 0', 'from: last + 1, count', 'from: last, count'],
    ['sources get numbers again', ' || known.has(message.id)) return []', ') return []'],
    [
      'sources that were left out go out',
      'if (isInRanges(absent, from + place)) return []',
      'if (isInRanges([], from + place)) return []',
    ],
    ['what is left out is not told', 'absent.length === 0 ? []', 'absent.length >= 0 ? []'],
    ['no line before the sources', '${text}\\n\\n${lines}', '${text}\\n${lines}'],
  ]),
  ...inFile(`${LOG}/citations.ts`, [
    ['code cites', 'for (const prose of withoutCode(text))', 'for (const prose of [text])'],
    ['case matters', '.toLowerCase()))', '))'],
    ['ranges of any length cite', 'if (to - from >= MAX_RANGE_SOURCES) return []', 'if (to < from) return []'],
    ['sources leave where nothing is cited', 'cited.length === 0 ? before.left :', 'cited.length < 0 ? before.left :'],
    ['a later citation is not kept', 'cited: joinRanges(before.cited, rangesOf(cited))', 'cited: rangesOf(cited)'],
    ['what was never numbered is cited', 'number >= 1 && number <= highest', 'number >= 1'],
  ]),
  ...inFile('functions/log/request/media-window.ts', [
    ['one image more goes out', 'sent.length <= count ||', 'sent.length <= count + 1 ||'],
    ['images come back', "message.id >= (media?.from ?? '')", "message.id >= ''"],
  ]),
  ...inFile('functions/agent/loop/context/context.ts', [
    [
      'images leave within a run',
      "role === 'assistant' && message.runId === runId",
      "role === 'assistant' && runId === ''",
    ],
    ['what is announced is cut as late as others', 'of.isAnnounced ? SOON_FULL : FULL', 'FULL'],
    [
      'a request is sent before its decision is recorded',
      'await recordDecision(state, { ...definedFields({ context: sized.decision })',
      'void recordDecision(state, { ...definedFields({ context: sized.decision })',
    ],
    [
      'what a request decides is not recorded',
      '{ ...definedFields({ context: sized.decision }), notices }',
      '{ notices }',
    ],
  ]),
  ...inFile(`${LOOP}/run-loop.ts`, [
    [
      'the end of a run decides nothing about images',
      'definedFields({ notices, context: await mediaAtEnd(state, message) })',
      'definedFields({ notices })',
    ],
  ]),
  ...inFile('functions/agent/loop/sources/citations-at-end.ts', [
    ['citations replace what else was decided', '{ ...decided, citations }', '{ ...state.context.decided, citations }'],
  ]),
  ...inFile('functions/agent/loop/context/consolidate.ts', [
    [
      'it is told twice that a summary is near',
      'isNearlyFull(consolidation, count) && !hasWarned',
      'isNearlyFull(consolidation, count)',
    ],
    [
      'only who begins a run tells that a summary is near',
      '&& !hasWarned ?',
      "&& !hasWarned && held.origin === 'started' ?",
    ],
  ]),
]
