import { marked } from 'marked'
import type { Token, Tokens } from 'marked'
import { createContext } from 'preact'
import type { ComponentChildren } from 'preact'
import { useContext, useMemo } from 'preact/hooks'
import { withBidiShown } from '../text/bidi.ts'
import { Marked } from '../text/marked-words.tsx'
import { tokensOf } from './markdown-tokens.ts'

/** Maximum nesting. Deeper content is shown as text. */
const MAX_DEPTH = 24

/**
 * Renders Markdown with our own elements. No part of it becomes HTML: tags are shown as text, and images as links. Only
 * links to the web or to mail addresses can be clicked.
 */
export function Markdown({ text }: { readonly text: string }) {
  const tokens = useMemo(() => tokensOf(text), [text])
  if (tokens === undefined)
    return (
      <pre class="plain">
        <Marked text={text} />
      </pre>
    )
  return (
    <Levels.Provider value={levelsOf(tokens)}>
      <div class="markdown">{blocks(tokens, 0)}</div>
    </Levels.Provider>
  )
}

/** Level of each heading token. */
const Levels = createContext<ReadonlyMap<Token, number>>(new Map())

/**
 * Returns the levels of the headings. They begin below the page's own heading and skip no level, so that a screen
 * reader's list of headings is complete.
 */
function levelsOf(tokens: Token[]): ReadonlyMap<Token, number> {
  const levels = new Map<Token, number>()
  let before = 1
  void marked.walkTokens(tokens, (token) => {
    if (token.type !== 'heading') return
    before = Math.min((token as Tokens.Heading).depth + 1, before + 1, 6)
    levels.set(token, before)
  })
  return levels
}

const blocks = (tokens: readonly Token[], depth: number): ComponentChildren[] =>
  tokens.map((token, index) => <Block key={index} token={token} depth={depth} />)

function Block({ token, depth }: { readonly token: Token; readonly depth: number }) {
  if (depth > MAX_DEPTH) return <Marked text={token.raw} />
  switch (token.type) {
    case 'space':
    case 'def':
      return null
    case 'hr':
      return <hr />
    case 'heading':
      return <Heading token={token as Tokens.Heading} depth={depth} />
    case 'code':
      return <Code token={token as Tokens.Code} />
    case 'blockquote':
      return <blockquote>{blocks((token as Tokens.Blockquote).tokens, depth + 1)}</blockquote>
    case 'list':
      return <List token={token as Tokens.List} depth={depth} />
    case 'table':
      return <Table token={token as Tokens.Table} depth={depth} />
    case 'paragraph':
      return <p>{inline((token as Tokens.Paragraph).tokens, depth)}</p>
    case 'text': {
      const { tokens, text } = token as Tokens.Text
      return <>{tokens === undefined ? <Marked text={text} /> : inline(tokens, depth)}</>
    }
    default:
      return (
        <p>
          <Marked text={token.raw} />
        </p>
      )
  }
}

function Heading({ token, depth }: { readonly token: Tokens.Heading; readonly depth: number }) {
  return (
    <div class={`heading heading-${token.depth}`} role="heading" aria-level={useContext(Levels).get(token)}>
      {inline(token.tokens, depth)}
    </div>
  )
}

function Code({ token: { lang, text } }: { readonly token: Tokens.Code }) {
  return (
    <figure class="code">
      {lang === undefined || lang === '' ? null : <figcaption>{lang}</figcaption>}
      <pre tabIndex={0}>
        <Marked text={text} />
      </pre>
    </figure>
  )
}

function List({ token, depth }: { readonly token: Tokens.List; readonly depth: number }) {
  const items = token.items.map((item, index) => (
    <li key={index}>
      {item.task ? <input type="checkbox" checked={item.checked === true} disabled aria-label="done" /> : null}
      {blocks(
        item.tokens.filter(({ type }) => type !== 'checkbox'),
        depth + 1,
      )}
    </li>
  ))
  return token.ordered ? <ol start={Number(token.start) || 1}>{items}</ol> : <ul>{items}</ul>
}

function Table({ token, depth }: { readonly token: Tokens.Table; readonly depth: number }) {
  return (
    <div class="table" tabIndex={0} role="group" aria-label="table">
      <table>
        <thead>
          <tr>
            {token.header.map((cell, index) => (
              <th key={index}>{inline(cell.tokens, depth)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, index) => (
                <td key={index}>{inline(cell.tokens, depth)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const inline = (tokens: readonly Token[] = [], depth: number): ComponentChildren[] =>
  tokens.map((token, index) => <Inline key={index} token={token} depth={depth + 1} />)

function Inline({ token, depth }: { readonly token: Token; readonly depth: number }) {
  if (depth > MAX_DEPTH) return <Marked text={token.raw} />
  switch (token.type) {
    case 'strong':
      return <strong>{inline((token as Tokens.Strong).tokens, depth)}</strong>
    case 'em':
      return <em>{inline((token as Tokens.Em).tokens, depth)}</em>
    case 'del':
      return <del>{inline((token as Tokens.Del).tokens, depth)}</del>
    case 'codespan':
      return (
        <code>
          <Marked text={(token as Tokens.Codespan).text} />
        </code>
      )
    case 'br':
      return <br />
    case 'link':
    case 'image': {
      const { href, text } = token as Tokens.Link
      return <Address href={href} text={text} />
    }
    case 'escape':
      return <>{(token as Tokens.Escape).text}</>
    case 'text': {
      const { tokens, text } = token as Tokens.Text
      return <>{tokens === undefined ? <Marked text={text} /> : inline(tokens, depth)}</>
    }
    default:
      return <Marked text={token.raw} />
  }
}

/** Renders a link together with its target, because the link's text may name another address. */
function Address({ href, text }: { readonly href: string; readonly text: string }) {
  const url = /^(?:https?:\/\/|mailto:)/i.test(href) && URL.canParse(href) ? new URL(href) : undefined
  if (url === undefined)
    return (
      <>
        <bdi>
          <Marked text={text} />
        </bdi>
        {text === href ? null : (
          <>
            {' '}
            <Target>({withBidiShown(href)})</Target>
          </>
        )}
      </>
    )
  const shown = url.href
  return (
    <a href={shown} target="_blank" rel="noopener noreferrer nofollow">
      {text === href || text === '' ? (
        <Target>{shown}</Target>
      ) : (
        <bdi>
          <Marked text={text} />
        </bdi>
      )}
      {text === href || text === '' ? null : (
        <span class="address">
          {' '}
          <Target>({shown})</Target>
        </span>
      )}
    </a>
  )
}

/** Shows an address from left to right, even inside text that runs from right to left. */
const Target = ({ children }: { readonly children: ComponentChildren }) => <bdi dir="ltr">{children}</bdi>
