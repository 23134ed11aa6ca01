"""What every room uses: errors, usage, documents, settings, the process runner and the Protocols rooms meet through.

Nothing here knows a room. Import the module that is meant (`trueup.core.process`, `trueup.core.errors`, …): this
package re-exports nothing, so that `trueup --help` loads only what it needs.
"""
