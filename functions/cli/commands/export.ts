import { createWriteStream } from 'node:fs'
import { rename, rm, stat } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Client } from '../../client/client.ts'
import type { Queries } from '../../client/api-types.ts'
import { Failed } from '../input.ts'
import { harmlessPieces, note, oneLine } from '../terminal.ts'

export interface ExportOptions {
  readonly format?: Queries['exportSession']['format']
  readonly outputs?: Queries['exportSession']['outputs']
  /** The output file. If absent, the command writes to standard output. */
  readonly file?: string
}

/** Writes the log of a session. A file gets its final name only when it is complete. */
export async function exportSession(client: Client, session: string, options: ExportOptions): Promise<void> {
  const { file, ...query } = options
  const { body } = await client.exportSession(session, query)
  const pieces = Readable.fromWeb(body ?? new ReadableStream({ start: (controller) => controller.close() }))
  if (file === undefined) return toOutput(pieces)
  const part = `${file}.part`
  try {
    // The old file is removed first, because the mode applies only to a new file.
    await rm(part, { force: true })
    await pipeline(pieces, createWriteStream(part, { flags: 'wx', mode: 0o600 }))
    await rename(part, file)
  } catch (error) {
    await rm(part, { force: true })
    throw new Failed(`${oneLine(file, 300)} could not be written: ${reasonOf(error)}. ${nextStep(error)}`)
  }
  const { size } = await stat(file)
  note(`${oneLine(file, 300)}: ${size} bytes\n`)
}

/** Writes the pieces to standard output. They stay unchanged, except that a terminal gets no control characters. */
async function toOutput(pieces: Readable): Promise<void> {
  try {
    await pipeline(process.stdout.isTTY ? harmlessPieces(pieces) : pieces, process.stdout, { end: false })
  } catch (error) {
    // The program that reads the output has closed it.
    if (error instanceof Error && 'code' in error && error.code === 'EPIPE') return
    throw new Failed(`The export failed: ${reasonOf(error)}. ${nextStep(error)}`)
  }
}

/** Returns the advice for the next step. An error of the file system would happen again, so another file is suggested. */
const nextStep = (error: unknown): string =>
  error instanceof Error && 'syscall' in error ? 'Name another file with -o.' : 'Try again.'

const reasonOf = (error: unknown): string =>
  error instanceof Error && error.message === 'terminated'
    ? 'the connection was lost'
    : oneLine(error instanceof Error ? error.message : String(error), 200)
