# `make deb` and `make tarball`: a Debian 12 package of the server, its systemd unit and an example configuration.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # cpack packs what was built, without building the tests
install(TARGETS quiver RUNTIME DESTINATION bin)
install(FILES ${CMAKE_SOURCE_DIR}/deploy/quiver.service DESTINATION lib/systemd/system)
install(FILES ${CMAKE_SOURCE_DIR}/deploy/quiver.toml DESTINATION /etc/quiver)
install(FILES ${CMAKE_SOURCE_DIR}/deploy/prometheus/quiver.rules.yml ${CMAKE_SOURCE_DIR}/deploy/grafana/quiver.json
        DESTINATION share/quiver)
# The program itself prints its completions and its manual page.
set(QV_PAGES ${CMAKE_BINARY_DIR}/pages)
install(CODE "file(MAKE_DIRECTORY ${QV_PAGES})")
foreach(page "quiver.1|manual" "quiver.bash|completions\;bash" "_quiver|completions\;zsh" "quiver.fish|completions\;fish")
  string(REPLACE "|" ";" page "${page}")
  list(POP_FRONT page file)
  string(REPLACE ";" " " arguments "${page}")
  install(CODE "execute_process(COMMAND \"$<TARGET_FILE:quiver>\" ${arguments} OUTPUT_FILE ${QV_PAGES}/${file} COMMAND_ERROR_IS_FATAL ANY)")
endforeach()
install(CODE "execute_process(COMMAND gzip -9nkf ${QV_PAGES}/quiver.1 COMMAND_ERROR_IS_FATAL ANY)")
install(FILES ${QV_PAGES}/quiver.1.gz DESTINATION share/man/man1)
install(FILES ${QV_PAGES}/quiver.bash DESTINATION share/bash-completion/completions RENAME quiver)
install(FILES ${QV_PAGES}/_quiver DESTINATION share/zsh/vendor-completions)
install(FILES ${QV_PAGES}/quiver.fish DESTINATION share/fish/vendor_completions.d)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${CMAKE_SOURCE_DIR}/SECURITY.md
        ${CMAKE_SOURCE_DIR}/docs/configuration.md DESTINATION share/doc/quiver)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION share/doc/quiver RENAME copyright)
# Headers of others are compiled in; libraries are packages of their own.
install(CODE "execute_process(COMMAND python3 -B ${CMAKE_SOURCE_DIR}/tools/third_party.py --build ${CMAKE_BINARY_DIR}
                              OUTPUT_FILE ${QV_PAGES}/THIRD-PARTY COMMAND_ERROR_IS_FATAL ANY)")
install(FILES ${QV_PAGES}/THIRD-PARTY DESTINATION share/doc/quiver)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME quiver)
set(CPACK_PACKAGE_VENDOR "Quiver")
set(CPACK_PACKAGE_CONTACT "The Quiver maintainers <quiver@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "vector search server: dense, sparse and multi-vector")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_OUTPUT_FILE_PREFIX ${CMAKE_BINARY_DIR}/package)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION database)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    ${CMAKE_SOURCE_DIR}/deploy/deb/conffiles
    ${CMAKE_SOURCE_DIR}/deploy/deb/postinst
    ${CMAKE_SOURCE_DIR}/deploy/deb/prerm
    ${CMAKE_SOURCE_DIR}/deploy/deb/postrm)
include(CPack)
